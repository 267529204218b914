"""Tables of Spark's session catalog: their options, kept in the metadata of their columns.

Spark gives a Python data source the options of a table when the table is created, beside all of its
properties and once more with a prefix. When the table is read it gives no options, but the
columns as they were stored. So each column keeps the options, and a table with secrets is refused:
metadata travels into files that are written from the table.

Only reads use them. A write gets the columns of its rows, with the metadata of the table or the
file that the rows come from: an INSERT aligns them with the target's only where names or types
differ, a stream never. A write without options looks the same as `save()` without options. Nothing
shows the target, so the options of a write come from the write alone.

Source: `V2SessionCatalog`, `PythonTable`, `V2Writes` and `TableOutputResolver` of Spark 4.0 to 4.3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Final

from pyspark.sql.types import StructField, StructType

from kafka_formats.options.option import WRITE, Use
from kafka_formats.options.table import REGISTRY_PREFIX
from kafka_protocol.client.config.option import options_of
from kafka_protocol.client.config.references import PROVIDERS
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.options.names import CLIENT_PREFIX
from kafka_spark_source.options.table import OPTIONS, Table

_PREFIX: Final = "option."
_METADATA: Final = "pykafka.options"
_STRATEGIES: Final = (Table.SUBSCRIBE, Table.SUBSCRIBE_PATTERN, Table.ASSIGN)
_READS: Final = {row.key: row.uses for row in OPTIONS if row.uses != WRITE}
# It names a function to call. A table, or metadata like a table's, may be somebody else's.
_CALLBACK: Final = f"{CLIENT_PREFIX}sasl.oauthbearer.token.callback"
# It sends a token of the machine, for a scope that another option names.
_IDENTITY: Final = frozenset(
    (
        f"{CLIENT_PREFIX}sasl.oauthbearer.metadata.authentication.type",
        f"{REGISTRY_PREFIX}bearer.auth.credentials.source",
    )
)
# They name files of the machine: one is sent, another signs what a server of the table wants.
_ASSERTION: Final = f"{CLIENT_PREFIX}sasl.oauthbearer.assertion."
_NO_IDENTITY: Final = ("NONE", "STATIC_TOKEN", "OAUTHBEARER")
_USER_IN_URL: Final = re.compile(r"://[^/]*@")
# Also for names that this version does not know.
_LOOKS_SECRET: Final = re.compile(r"secret|password|token|access[.]?key|jaas|user\.info")


def options_of_new_table(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a table that is being created, in lower case; empty if no table is."""
    lower = {name.lower(): value for name, value in options.items()}
    return {
        name.removeprefix(_PREFIX): value
        for name, value in lower.items()
        if name.startswith(_PREFIX)
    }


def with_options(columns: StructType, options: Mapping[str, str]) -> StructType:
    """Columns that keep the options of their table.

    Raises:
        KafkaConfigError: An option is a secret, or names a function.
    """
    _check_is_safe(options)
    for name in sorted(options):
        if _is_secret(name, options[name]):
            raise KafkaConfigError(
                f"Option '{name}' holds a secret, which a table would keep in the clear: create a "
                "temporary view, or give the option with each query: WITH (...) after the name."
            )
    metadata = {_METADATA: json.dumps(options)}
    return StructType(
        [
            StructField(each.name, each.dataType, each.nullable, {**each.metadata, **metadata})
            for each in columns.fields
        ]
    )


def with_kept_options(given: Mapping[str, str], columns: StructType, use: Use) -> Mapping[str, str]:
    """The options of a read, and the ones that the columns of its table keep.

    The options of a read that name brokers are whole.

    Args:
        given: The options of the read.
        columns: The columns of the table, as the catalog has them, or of `.schema(...)`.
        use: A batch or a stream. Kept options for the other one do not matter to it.

    Raises:
        KafkaConfigError: There are no options at all, which is what a table that Spark made by
            itself has; or a kept one names a function.
    """
    names = {name.lower() for name in given}
    if Table.BOOTSTRAP_SERVERS.key in names:
        return given
    kept = next((each.metadata[_METADATA] for each in columns if _METADATA in each.metadata), None)
    if kept is not None:
        return {**options_for(_options_in(kept), use), **given}
    if not names - {"checkpointlocation", "path"}:
        raise KafkaConfigError(
            f"Option '{Table.BOOTSTRAP_SERVERS.name}' must be specified, and there is no option at "
            "all. If this is a table: Spark does not pass its options to a Python source, "
            "unless it is made by CREATE TABLE ... USING pykafka OPTIONS (...), without columns."
        )
    return given


def options_for(options: Mapping[str, str], use: Use) -> dict[str, str]:
    """The options of a table that are for a read, by names in lower case.

    A table with `topic` is read from that topic. Other options of writes stay, and the read
    refuses them.
    """
    own = {name: value for name, value in options.items() if use in _READS.get(name, {use})}
    topic = own.pop(Table.TOPIC.key, None)
    if topic is not None and not any(row.key in own for row in _STRATEGIES):
        own[Table.SUBSCRIBE.key] = topic
    return own


def _options_in(kept: object) -> dict[str, str]:
    """The options in the metadata of a column, which anybody may have written."""
    try:
        options = json.loads(str(kept))
        lower = {name.lower(): value for name, value in options.items()}
    except (ValueError, AttributeError, RecursionError):
        lower = {"": None}
    if not all(isinstance(value, str) for value in lower.values()):
        raise KafkaConfigError(
            f"The metadata {_METADATA!r} of the columns is not what CREATE TABLE ... USING pykafka "
            "writes: create the table again, or give all options with the query."
        )
    _check_is_safe(lower)
    return lower


def _check_is_safe(options: Mapping[str, str]) -> None:
    if _CALLBACK in options:
        raise KafkaConfigError(
            f"Option '{_CALLBACK}' of a table is refused: it names a function to call, and a table "
            "may be somebody else's. Give it with each query."
        )
    for name in _IDENTITY.intersection(options):
        if options[name].strip().upper() not in _NO_IDENTITY:
            raise KafkaConfigError(
                f"Option '{name}' of a table is refused: its servers, which may be somebody "
                "else's, would get a token of whoever reads it. Give it with each query."
            )
    for name in options:
        if name.startswith(_ASSERTION):
            raise KafkaConfigError(
                f"Option '{name}' of a table is refused: its token endpoint, which may be somebody "
                "else's, would get an assertion of whoever reads it. Give it with each query."
            )
    for name, value in options.items():
        # Not only the names that providers have by default: a table may give them others.
        if "${" in value or PROVIDERS in name:
            raise KafkaConfigError(
                f"Option '{name}' of a table is refused: it refers to the environment or a file of "
                "whoever reads the table, which may be somebody else's. Give it with each query."
            )


def check_write_names_brokers(given: Mapping[str, str]) -> None:
    """Refuse a write without brokers in its own options, such as an INSERT into a table.

    Options of the Kafka client without brokers are left to `parse_write_options`, which knows
    misspelt names.

    Raises:
        KafkaConfigError: There are no options of the Kafka client.
    """
    if any(name.lower().startswith(CLIENT_PREFIX) or "bootstrap" in name for name in given):
        return
    raise KafkaConfigError(
        f"Option '{Table.BOOTSTRAP_SERVERS.name}' must be specified for configuring Kafka "
        "producer, also to write to a table: Spark does not show a Python source which table it "
        "writes to, and rows bring the options of the table they were read from. "
        'Write df.write.format("pykafka").option("kafka.bootstrap.servers", "host:9092")'
        '.option("topic", "orders").mode("append").save(), or in SQL INSERT INTO orders '
        "WITH (kafka.bootstrap.servers = 'host:9092', topic = 'orders') SELECT ..."
    )


@cache
def _secret_names() -> frozenset[str]:
    # Only a new table needs it, and every worker imports this module.
    from kafka_formats.registry.config import RegistryConfig  # noqa: PLC0415

    return frozenset(
        prefix + name
        for prefix, config in ((CLIENT_PREFIX, SecurityOptions), (REGISTRY_PREFIX, RegistryConfig))
        for field in fields(config)
        if "Secret" in str(field.type) and field.name in options_of(config)
        for name in options_of(config)[field.name].names
    )


def _is_secret(name: str, value: str) -> bool:
    if name in _secret_names() or _LOOKS_SECRET.search(name):
        return True
    return _USER_IN_URL.search(value) is not None
