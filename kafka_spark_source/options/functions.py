"""Checks the arguments of functions such as `from_avro`, and returns them as options of formats.

Pure. Names are as on Databricks, which knows some as arguments and as options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_formats.options.formats import (
    ID_PREFIX,
    FormatOptions,
    PayloadOptions,
    WriteFormatOptions,
    write_options,
)
from kafka_formats.options.settings import Format, Framing, Mode, SchemaEvolution
from kafka_formats.options.table import (
    AUTO_REGISTER,
    MODE,
    NORMALIZE,
    REGISTRY_PREFIX,
    USE_LATEST,
    USE_LATEST_WITH_METADATA,
    VALUE,
    WRITE_ONLY,
)
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.option import Option
from kafka_spark_source.options.names import by_key

COLUMN: Final = "value"
# The options of a function that are arguments, too.
_SUBJECT: Final = VALUE.subject.name
_SCHEMA: Final = VALUE.schema.name
_MESSAGE: Final = VALUE.message.name


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a function.

    Attributes:
        schemas: Name of an argument -> the schema in it: its text, a file on the driver, or `id:7`.
        message: The name of Protobuf's message.
        address: The registry's.
        options: As the user gave them. Secrets: kept from repr.
    """

    format: Format
    schemas: Mapping[str, str | None]
    message: str | None
    subject: str | None
    address: str | None
    options: Mapping[str, str] | None = field(repr=False)


def parse_decoding(arguments: Arguments) -> FormatOptions:
    """Check the arguments of a function that decodes.

    Raises:
        KafkaConfigError: An argument or an option cannot be used, or is missing.
    """
    given = by_key(arguments.options or {})
    payload, registry = _parsed(arguments, given, (MODE, USE_LATEST_WITH_METADATA))
    if VALUE.evolution.value_in(given) is not SchemaEvolution.NONE:
        raise KafkaConfigError(
            f"Option '{VALUE.evolution.name}' is for reads of pykafka: a function has the type of "
            "the schema that it was called with."
        )
    mode = MODE.value_in(given)
    if mode is Mode.DROPMALFORMED:
        raise KafkaConfigError("Option 'mode' must be FAILFAST or PERMISSIVE for a function.")
    return FormatOptions((payload,), mode, registry)


def parse_encoding(arguments: Arguments) -> WriteFormatOptions:
    """Check the arguments of a function that encodes, as `parse_decoding` does."""
    given = by_key(arguments.options or {})
    own = (AUTO_REGISTER, NORMALIZE, USE_LATEST, USE_LATEST_WITH_METADATA)
    payload, registry = _parsed(arguments, given, own)
    return write_options((payload,), given, registry)


def _parsed(
    arguments: Arguments, given: Mapping[str, str], own: tuple[Option[object], ...]
) -> tuple[PayloadOptions, dict[str, str]]:
    """The schema to use, and the options of the registry's client."""
    _check_names(given, own)
    registry = {
        name.removeprefix(REGISTRY_PREFIX): value
        for name, value in given.items()
        if name.startswith(REGISTRY_PREFIX)
    }
    schema = _only_one({**arguments.schemas, _SCHEMA: given.get(_SCHEMA)})
    message = _only_one({"messageName": arguments.message, _MESSAGE: given.get(_MESSAGE)})
    subject = _only_one({"subject": arguments.subject, _SUBJECT: given.get(_SUBJECT)})
    url = registry.pop("url", None)
    address = _only_one({"schemaRegistryAddress": arguments.address, f"{REGISTRY_PREFIX}url": url})
    if schema is None and (subject is None or address is None):
        raise KafkaConfigError(
            f"A schema is missing: give {' or '.join(arguments.schemas)}, or subject and "
            "schemaRegistryAddress."
        )
    if address is None:
        _refuse_registry(schema, subject, registry)
    else:
        registry["url"] = address
    metadata = USE_LATEST_WITH_METADATA.value_if_in(given) or ()
    if metadata and schema is not None:
        raise KafkaConfigError(
            f"Option '{USE_LATEST_WITH_METADATA.name}' contradicts a schema that is given: keep "
            "one."
        )
    payload = PayloadOptions(
        column=COLUMN,
        format=arguments.format,
        framing=Framing.NONE if address is None else Framing.CONFLUENT,
        schema=schema,
        subject=subject,
        version=None,
        message=message,
        metadata=metadata,
    )
    return payload, registry


def _check_names(given: Mapping[str, str], own: tuple[Option[object], ...]) -> None:
    known = (
        {each.key for each in own}
        | {_SCHEMA, _SUBJECT, _MESSAGE, VALUE.evolution.key}
        | set(WRITE_ONLY)
    )
    for name in given:
        if not name.startswith(REGISTRY_PREFIX) and name not in known:
            names = ", ".join(each.name for each in own)
            raise KafkaConfigError(
                f"Option '{name}' is not known: this function takes {names}, and options that "
                f"begin with {REGISTRY_PREFIX}"
            )


def _only_one(given: Mapping[str, str | None]) -> str | None:
    """The value, whatever its name is."""
    non_empty = {name: value for name, value in given.items() if value}
    if len(non_empty) > 1:
        raise KafkaConfigError(f"{' and '.join(non_empty)} contradict each other: keep one.")
    return next(iter(non_empty.values()), None)


def _refuse_registry(schema: str | None, subject: str | None, registry: Mapping[str, str]) -> None:
    """Refuse options without effect if there is no registry."""
    if subject is not None:
        what = "subject"
    elif schema is not None and schema.startswith(ID_PREFIX):
        what = f"The schema {schema}"
    elif registry:
        what = f"Option '{REGISTRY_PREFIX}{min(registry)}'"
    else:
        return
    raise KafkaConfigError(
        f"{what} needs a registry: set schemaRegistryAddress to its address, or remove it."
    )
