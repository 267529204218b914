"""Checks the names of the options that a user gives, and finds the client's options among them.

Pure. Values are parsed in `table`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_formats.options.option import READ, Use
from kafka_formats.options.other_tools import in_own_names
from kafka_formats.options.table import REGISTRY_PREFIX, WRITE_ONLY
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.nearest_name import did_you_mean
from kafka_protocol.options.option import Option
from kafka_protocol.options.topic_names import is_topic_name
from kafka_spark_source.options.table import OPTIONS, STREAM_ONLY, Table

CLIENT_PREFIX: Final = "kafka."

# Spark adds these for load("..."), save("...") and queryName("..."). Ignored, as in its connector.
# point: sparks-options
_SPARKS_OWN: Final = frozenset({"path", "paths", "checkpointlocation", "queryname"})

# Options of the Kafka client that contradict this connector, and the cure for each.
_FORBIDDEN_TO_READ: Final = {
    "auto.offset.reset": (
        "Instead set the source option 'startingOffsets' to 'earliest' or to offsets."
    ),
    "key.deserializer": (
        "Keys are read as binary: use DataFrame operations to deserialize the column 'key'."
    ),
    "value.deserializer": (
        "Values are read as binary: use DataFrame operations to deserialize the column 'value'."
    ),
    "enable.auto.commit": "Reading commits no offsets: remove it.",
    "interceptor.classes": "Java classes cannot be loaded: use DataFrame operations instead.",
}
_FORBIDDEN: Final[Mapping[Use, Mapping[str, str]]] = {
    Use.BATCH_READ: _FORBIDDEN_TO_READ,
    Use.STREAM_READ: _FORBIDDEN_TO_READ,
    Use.WRITE: {
        "key.serializer": (
            "Keys are written unchanged: make the column 'key' a string or binary before."
        ),
        "value.serializer": (
            "Values are written unchanged: make the column 'value' a string or binary before."
        ),
    },
}


def by_key(options: Mapping[str, str]) -> dict[str, str]:
    """Options with the names that they have here, in lower case, for lookups that ignore case.

    Raises:
        KafkaConfigError: An option of another tool is refused.
    """
    return in_own_names({name.lower(): value for name, value in options.items()})


def check_names(given: Mapping[str, str], use: Use) -> None:
    """Check that every name is known and is for this use.

    Raises:
        KafkaConfigError: A name is not.
    """
    known = {option.key: option for option in OPTIONS}
    ignored = {name.lower() for name in IGNORED[use]}
    for key in sorted(given.keys() - _SPARKS_OWN - ignored):
        if key.startswith(_PREFIXES):
            continue
        if key not in known:
            raise _unknown(key, use)
        if use not in known[key].uses:
            raise _for_another_use(known[key], use)


# The names of options that are checked elsewhere.
_PREFIXES: Final = (CLIENT_PREFIX, REGISTRY_PREFIX)

# Accepted with a warning, because Spark's connector and Confluent's deserializers accept them.
IGNORED: Final[Mapping[Use, tuple[str, ...]]] = {
    Use.BATCH_READ: (*STREAM_ONLY, *WRITE_ONLY),
    Use.STREAM_READ: (Table.ENDING_TIMESTAMP.name, *WRITE_ONLY),
    Use.WRITE: (),
}


def _for_another_use(option: Option[object], use: Use) -> KafkaConfigError:
    # At `load()` a stream is checked as a batch: where an option is for neither, say so.
    here = use.value if use is Use.WRITE or option.uses & READ else "a read"
    others = (
        "a read"
        if option.uses >= READ
        else " or ".join(other.value for other in Use if other in option.uses)
    )
    cure = _IN_ITS_PLACE.get(option.key, "remove it.")
    return KafkaConfigError(f"Option '{option.name}' is for {others}, not for {here}: {cure}")


_IN_ITS_PLACE: Final = {
    Table.TOPIC.key: "name the topics to read in the option 'subscribe'.",
    Table.SUBSCRIBE.key: "name the topic to write to in the option 'topic'.",
}


def _unknown(key: str, use: Use) -> KafkaConfigError:
    if key.startswith(_CLIENTS):
        return KafkaConfigError(
            f"Option '{key}' is not known to pykafka: did you mean '{CLIENT_PREFIX}{key}'?"
        )
    usable = [option.name for option in OPTIONS if use in option.uses]
    spelled = {name.lower(): name for name in (*usable, *IGNORED[use])}
    advice = did_you_mean(
        key,
        spelled,
        cutoff=0.75,
        otherwise=(
            f"{use.value} takes {', '.join(usable)}; an option of the Kafka client needs 'kafka.' "
            "before its name."
        ),
    )
    return KafkaConfigError(f"Option '{key}' is not known to pykafka: {advice}")


# The beginnings of the client's options that people paste without `kafka.`.
_CLIENTS: Final = ("sasl.", "security.", "ssl.")


def argument_in(given: Mapping[str, str]) -> str | None:
    """The argument of load(), save() or start(), if it could name topics; else None.

    It has no effect, as in Spark's connector. Tables have the path of their folder there.
    """
    path = given.get("path", "")
    if path in (given.get(Table.SUBSCRIBE.key), given.get(Table.TOPIC.key)):
        return None
    return path if all(map(is_topic_name, path.split(","))) else None


def client_options(given: Mapping[str, str], use: Use) -> dict[str, str]:
    """The options of the Kafka client, without `kafka.`.

    Raises:
        KafkaConfigError: An option contradicts this connector, or no broker is named.
    """
    for name, advice in _FORBIDDEN[use].items():
        if CLIENT_PREFIX + name in given:
            raise KafkaConfigError(f"Kafka option '{name}' is not supported. {advice}")
    if Table.BOOTSTRAP_SERVERS.key not in given:
        raise _no_servers(given, use)
    return {
        key.removeprefix(CLIENT_PREFIX): value
        for key, value in given.items()
        if key.startswith(CLIENT_PREFIX)
    }


def _no_servers(given: Mapping[str, str], use: Use) -> KafkaConfigError:
    servers = Table.BOOTSTRAP_SERVERS.name
    near = next((name for name in given if did_you_mean(name, {servers: servers}, cutoff=0.75)), "")
    meant = f", and '{near}' is not known: did you mean '{servers}'?"
    advice = ": set it to the addresses of some brokers, host:port."
    return KafkaConfigError(
        f"Option '{servers}' must be specified for configuring Kafka "
        f"{'producer' if use is Use.WRITE else 'consumer'}{meant if near else advice}"
    )
