"""The options of `envelope=debezium`, and the defaults of formats that it changes. Pure.

Names and values are as for Debezium's connectors and Connect's converter of JSON, where they
have the option, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from kafka_formats.options.option import READ, parse_boolean, parse_choice, parse_text
from kafka_formats.options.settings import Format, Framing
from kafka_formats.options.table import KEY, REGISTRY_PREFIX, VALUE
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.option import Option

_TIME: Final = "io.debezium.time."
# The semantic type of moments without a zone; None: it depends on the column.
_PRECISIONS: Final[Mapping[str, str | None]] = {
    "adaptive": None,
    "adaptive_time_microseconds": None,
    "connect": "org.apache.kafka.connect.data.Timestamp",
    "microseconds": f"{_TIME}MicroTimestamp",
    "nanoseconds": f"{_TIME}NanoTimestamp",
    "isostring": f"{_TIME}IsoTimestamp",
}


def _parse_placeholder(name: str, text: str) -> bytes:
    """A text, or octets after `hex:`, as the connectors take it."""
    is_hex = text.lower().startswith("hex:")
    try:
        placeholder = bytes.fromhex(text[4:]) if is_hex else text.encode("utf-8")
    except ValueError:
        raise KafkaConfigError(
            f"Option '{name}' must have hexadecimal digits after hex:, got '{text}'."
        ) from None
    if not placeholder:
        raise KafkaConfigError(
            f"Option '{name}' is empty, so that every empty value would be missing: set it to "
            "the connector's value."
        )
    return placeholder


PREFIX: Final = Option("debezium.prefix", parse_text, READ, "").about(
    "For `envelope=debezium`: a prefix for the names of columns that are not the table's, such as "
    "`op` and `topic`, if the table has columns of these names."
)
BEFORE: Final = Option("debezium.before", parse_boolean, READ, "false").about(
    "For `envelope=debezium`: whether there is a column `before`, a struct with the columns of the "
    "table before the change; null if the event does not have it. A `.schema(...)` that names the "
    "column needs no option."
)
OTHER_EVENTS: Final = Option(
    "debezium.otherEvents",
    partial(parse_choice, choices={"drop": False, "keep": True}),
    READ,
    "drop",
).about(
    "For `envelope=debezium`: what to do with truncated tables (`op` is `t`) and messages (`m`). "
    "`drop`: leave them out, and log their number. `keep`: rows without columns of the table."
)
PLACEHOLDER: Final = Option(
    "debezium.unavailable.value.placeholder",
    _parse_placeholder,
    READ,
    "__debezium_unavailable_value",
).about(
    "For `envelope=debezium`: the connector's `unavailable.value.placeholder`, which stands for "
    "values that the database did not send. They are null, and `_unavailable` has the column's "
    "name."
)
TIME_PRECISION: Final = Option(
    "debezium.time.precision.mode", partial(parse_choice, choices=_PRECISIONS), READ, "adaptive"
).about(
    "For `envelope=debezium` without Connect's schemas (JSON, Protobuf): the connector's "
    "`time.precision.mode`, so that columns can be `timestamp_ntz`: `connect`, `microseconds`, "
    "`nanoseconds` or `isostring`. With `adaptive` the unit depends on the column, and they cannot."
)
DECIMAL_FORMAT: Final = Option(
    "debezium.decimal.format",
    partial(parse_choice, choices={"base64": False, "numeric": True}),
    READ,
    "base64",
).about("For `envelope=debezium` in JSON: the converter's `decimal.format`, `BASE64` or `NUMERIC`.")

DEBEZIUM_OPTIONS: Final[tuple[Option[object], ...]] = (
    PREFIX,
    BEFORE,
    OTHER_EVENTS,
    PLACEHOLDER,
    TIME_PRECISION,
    DECIMAL_FORMAT,
)


@dataclass(frozen=True, slots=True)
class DebeziumOptions:
    """How to read changes of a database.

    Attributes:
        prefix: Before the names of columns that are not the table's.
        has_before: Whether the row before the change is a column.
        keep_others: Whether events that change no single row are rows, too.
        placeholder: It stands for values that are not available.
        moment: The semantic type of moments without a zone where no schema has it, or None.
        decimal_is_number: Whether decimals are numbers in JSON.
    """

    prefix: str = ""
    has_before: bool = False
    keep_others: bool = False
    placeholder: bytes = b"__debezium_unavailable_value"
    moment: str | None = None
    decimal_is_number: bool = False


def parse_debezium(given: Mapping[str, str]) -> DebeziumOptions:
    """Check the options, by names in lower case.

    Raises:
        KafkaConfigError: One has an unusable value.
    """
    return DebeziumOptions(
        PREFIX.value_in(given),
        BEFORE.value_in(given),
        OTHER_EVENTS.value_in(given),
        PLACEHOLDER.value_in(given),
        TIME_PRECISION.value_in(given),
        DECIMAL_FORMAT.value_in(given),
    )


def with_formats_of_events(given: Mapping[str, str]) -> dict[str, str]:
    """The options with the defaults of formats for events: keys are encoded as values are.

    Without a registry, documents of JSON may have Connect's schemas in them.

    Raises:
        KafkaConfigError: Values have no format, or the schema of keys is missing.
    """
    format_ = VALUE.format.value_in(given)
    if format_ is Format.RAW:
        raise KafkaConfigError(
            f"Option 'envelope' is debezium, which needs a format: set {VALUE.format.name} to how "
            "the connector's converter writes values."
        )
    is_alone = f"{REGISTRY_PREFIX}url" not in given
    added: dict[str, str] = {}
    if format_ is Format.JSON and is_alone:
        added[VALUE.framing.key] = Framing.CONNECT.value
    if KEY.format.key not in given:
        framing = VALUE.framing.value_if_in(given)
        needs_schema = is_alone and framing is not Framing.GLUE and format_ is not Format.JSON
        if needs_schema and not given.keys() & {KEY.schema.key, KEY.descriptor.key}:
            raise KafkaConfigError(
                "Option 'envelope' is debezium, which reads keys, too: set "
                f"{KEY.schema.name} to their schema, or {KEY.format.name} to raw."
            )
        added[KEY.format.key] = format_.value
        if framing is not None:
            added[KEY.framing.key] = framing.value
    if KEY.format.value_in(added | dict(given)) is Format.JSON and is_alone:
        added.setdefault(KEY.framing.key, Framing.CONNECT.value)
    return added | dict(given)
