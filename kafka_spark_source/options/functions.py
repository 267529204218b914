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
)
from kafka_formats.options.settings import Format, Framing, Mode
from kafka_formats.options.table import AUTO_REGISTER, MODE, REGISTRY_PREFIX
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.option import Option
from kafka_spark_source.options.names import by_key

COLUMN: Final = "value"
# Databricks' name of the same options.
_LONG_PREFIX: Final = f"confluent.{REGISTRY_PREFIX}"


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
    payload, registry = _parsed(arguments, given, MODE)
    mode = MODE.value_in(given)
    if mode is Mode.DROPMALFORMED:
        raise KafkaConfigError("Option 'mode' must be FAILFAST or PERMISSIVE for a function.")
    return FormatOptions((payload,), mode, registry)


def parse_encoding(arguments: Arguments) -> WriteFormatOptions:
    """Check the arguments of a function that encodes, as `parse_decoding` does."""
    given = by_key(arguments.options or {})
    payload, registry = _parsed(arguments, given, AUTO_REGISTER)
    return WriteFormatOptions((payload,), AUTO_REGISTER.value_in(given), registry)


def _parsed(
    arguments: Arguments, given: Mapping[str, str], own: Option[object]
) -> tuple[PayloadOptions, dict[str, str]]:
    """The schema to use, and the options of the registry's client."""
    registry = _registry_options(given, own)
    schema = _only_one(arguments.schemas)
    message = _only_one(
        {
            "messageName": arguments.message,
            f"{REGISTRY_PREFIX}protobuf.name": registry.pop("protobuf.name", None),
        }
    )
    subject = _only_one(
        {
            "subject": arguments.subject,
            f"{REGISTRY_PREFIX}subject": registry.pop("subject", None),
        }
    )
    address = _only_one(
        {
            "schemaRegistryAddress": arguments.address,
            f"{REGISTRY_PREFIX}address": registry.pop("address", None),
            f"{REGISTRY_PREFIX}url": registry.pop("url", None),
        }
    )
    if schema is None and (subject is None or address is None):
        raise KafkaConfigError(
            f"A schema is missing: give {' or '.join(arguments.schemas)}, or subject and "
            "schemaRegistryAddress."
        )
    if address is None:
        _refuse_registry(schema, subject, registry)
    else:
        registry["url"] = address
    framing = Framing.NONE if address is None else Framing.CONFLUENT
    payload = PayloadOptions(COLUMN, arguments.format, framing, schema, subject, None, message)
    return payload, registry


def _registry_options(given: Mapping[str, str], own: Option[object]) -> dict[str, str]:
    """Without their prefix."""
    options = {}
    for name, value in given.items():
        prefix = next(
            (each for each in (_LONG_PREFIX, REGISTRY_PREFIX) if name.startswith(each)), ""
        )
        if prefix:
            options[name.removeprefix(prefix)] = value
        elif name != own.key:
            raise KafkaConfigError(
                f"Option '{name}' is not known: this function takes {own.name}, and options that "
                f"begin with {REGISTRY_PREFIX}"
            )
    return options


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
