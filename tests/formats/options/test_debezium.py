"""The options of `envelope=debezium`, and the defaults of formats that it changes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafka_formats.options.debezium import DebeziumOptions, parse_debezium
from kafka_formats.options.envelope import Envelope, parse_envelope
from kafka_formats.options.formats import parse_formats, parse_write_formats
from kafka_formats.options.settings import Format, Framing
from tests.config_error import config_error

DEBEZIUM = {"envelope": "debezium"}
URL = {"schema.registry.url": "http://r"}


def test_defaults() -> None:
    assert parse_debezium({}) == DebeziumOptions()
    assert parse_envelope(DEBEZIUM).debezium == DebeziumOptions()


def test_all_options() -> None:
    given = {
        **DEBEZIUM,
        "debezium.prefix": "__",
        "debezium.before": "True",
        "debezium.otherevents": "keep",
        "debezium.unavailable.value.placeholder": "hex:00ff",
        "debezium.time.precision.mode": "Microseconds",
        "debezium.decimal.format": "NUMERIC",
    }
    found = parse_envelope(given)
    assert found.kind is Envelope.DEBEZIUM
    assert found.debezium == DebeziumOptions(
        prefix="__",
        has_before=True,
        keep_others=True,
        placeholder=b"\x00\xff",
        moment="io.debezium.time.MicroTimestamp",
        decimal_is_number=True,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"debezium.prefix": "__"},
            "Option 'debezium.prefix' needs the option envelope: set it to debezium, or remove "
            "debezium.prefix.",
        ),
        (
            {**DEBEZIUM, "debezium.otherevents": "all"},
            "Option 'debezium.otherEvents' must be drop or keep, got 'all'.",
        ),
        (
            {**DEBEZIUM, "debezium.unavailable.value.placeholder": "hex:0"},
            "Option 'debezium.unavailable.value.placeholder' must have hexadecimal digits after "
            "hex:, got 'hex:0'.",
        ),
        (
            {**DEBEZIUM, "debezium.unavailable.value.placeholder": "hex:"},
            "Option 'debezium.unavailable.value.placeholder' is empty, so that every empty value "
            "would be missing: set it to the connector's value.",
        ),
    ],
)
def test_options_that_are_refused(options: Mapping[str, str], message: str) -> None:
    assert config_error(parse_envelope, options) == message


def columns(options: Mapping[str, str]) -> list[tuple[str, Format, Framing]]:
    found = parse_formats({**DEBEZIUM, **options})
    assert found is not None
    return [(each.column, each.format, each.framing) for each in found.payloads]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"value.format": "json"},
            [("key", Format.JSON, Framing.CONNECT), ("value", Format.JSON, Framing.CONNECT)],
        ),
        (
            {"value.format": "json", "value.framing": "none"},
            [("key", Format.JSON, Framing.NONE), ("value", Format.JSON, Framing.NONE)],
        ),
        (
            {"value.format": "json", **URL},
            [("key", Format.JSON, Framing.CONFLUENT), ("value", Format.JSON, Framing.CONFLUENT)],
        ),
        (
            {"value.format": "avro", **URL},
            [("key", Format.AVRO, Framing.CONFLUENT), ("value", Format.AVRO, Framing.CONFLUENT)],
        ),
        (
            {"value.format": "avro", "key.format": "json", **URL},
            [("key", Format.JSON, Framing.CONFLUENT), ("value", Format.AVRO, Framing.CONFLUENT)],
        ),
        (
            {"value.format": "avro", "value.schema": '"x"', "key.schema": '"x"'},
            [("key", Format.AVRO, Framing.NONE), ("value", Format.AVRO, Framing.NONE)],
        ),
        (
            {"value.format": "avro", "value.framing": "glue"},
            [("key", Format.AVRO, Framing.GLUE), ("value", Format.AVRO, Framing.GLUE)],
        ),
        (
            {"value.format": "json", "key.format": "raw"},
            [("value", Format.JSON, Framing.CONNECT)],
        ),
    ],
)
def test_keys_are_encoded_as_values_are(
    options: Mapping[str, str], expected: list[tuple[str, Format, Framing]]
) -> None:
    assert columns(options) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Option 'envelope' is debezium, which needs a format: set value.format to how"),
        (
            {"value.format": "avro", "value.schema": '"x"'},
            "Option 'envelope' is debezium, which reads keys, too: set key.schema to their schema,",
        ),
        (
            {"value.format": "avro", "value.framing": "connect", "key.format": "raw", **URL},
            "Option 'value.framing' is connect, which is for json: set value.format to json, or",
        ),
    ],
)
def test_formats_that_are_refused(options: Mapping[str, str], message: str) -> None:
    assert message in config_error(parse_formats, {**DEBEZIUM, **options})


def test_documents_with_schemas_are_read_only() -> None:
    given = {"value.format": "json", "value.framing": "connect"}
    plain = parse_formats(given)
    assert plain is not None
    assert plain.payloads[0].framing is Framing.CONNECT
    assert "is connect, which is for reads" in config_error(parse_write_formats, given)
