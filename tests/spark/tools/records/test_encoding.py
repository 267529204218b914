"""Documents of lines as payloads."""

from __future__ import annotations

import json

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.tools.records.encoding import COLUMNS, Encoding, encoding_for
from kafka_spark_source.tools.records.lines import BrokenLineError, Document, Line, read_lines

AVRO = {
    "value.format": "avro",
    "value.schema": json.dumps(
        {
            "type": "record",
            "name": "Order",
            "fields": [
                {"name": "id", "type": "long"},
                {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
                {
                    "name": "by",
                    "type": {
                        "type": "map",
                        "values": {
                            "type": "record",
                            "name": "P",
                            "fields": [{"name": "n", "type": ["null", "int"], "default": None}],
                        },
                    },
                },
            ],
        }
    ),
}


def values(encoding: Encoding, *documents: str) -> list[bytes | None]:
    lines = [Line(each, None, Document(text)) for each, text in enumerate(documents, 7)]
    found: list[bytes | None] = encoding.encode(lines, None).column(COLUMNS.value).to_pylist()
    return found


def test_columns() -> None:
    lines = [Line(1, b"k", None, (("h", None), ("h", b"1")), 1_500), Line(2, None, b"v")]
    rows = encoding_for("t", {}).encode(lines, 3).to_pylist()
    assert rows[0]["headers"] == [{"key": "h", "value": None}, {"key": "h", "value": b"1"}]
    assert rows[0]["timestamp"].timestamp() == 1.5
    assert (rows[0]["key"], rows[0]["value"], rows[0]["partition"]) == (b"k", None, 3)
    assert (rows[1]["headers"], rows[1]["timestamp"], rows[1]["value"]) == ([], None, b"v")


def test_avro() -> None:
    document = '{"id": 1, "tags": ["a"], "by": {"x": {"n": null}}}'
    assert values(encoding_for("t", AVRO), document) == [b"\x02\x02\x02a\x00\x02\x02x\x00\x00"]


def test_payloads_of_which_only_bytes_are_known_stay() -> None:
    lines = [Line(1, None, b"\xff"), Line(2, None, None)]
    rows = encoding_for("t", AVRO).encode(lines, None)
    assert rows.column(COLUMNS.value).to_pylist() == [b"\xff", None]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ('{"id": "x", "tags": [], "by": {}}', "value.id"),
        ('{"tags": [], "by": {}}', "id"),
        ('{"id": 1, "tags": [], "by": {}, "other": 2}', "no field 'value.other'"),
        ('{"id": 1, "tags": [], "by": {"x": {"m": 2}}}', "no field 'value.by.m'"),
        ("[]", "value"),
    ],
)
def test_a_document_that_does_not_fit_is_named(document: str, reason: str) -> None:
    good = '{"id": 1, "tags": [], "by": {}}'
    with pytest.raises(BrokenLineError, match="line 9: ") as error:
        values(encoding_for("t", AVRO), good, good, document, good)
    assert error.value.number == 9
    assert reason in str(error.value)


NUMBERS = {
    "value.format": "json",
    "value.schema": "d DECIMAL(5,2), f FLOAT, g DOUBLE, t TIMESTAMP, l ARRAY<DECIMAL(3,1)>, "
    "m MAP<STRING, FLOAT>",
}


@pytest.mark.parametrize(
    "document",
    [
        '{"d": 1.239}',
        '{"d": "1.239"}',
        '{"d": 1e-3}',
        '{"d": 0.001}',
        '{"f": 1e39}',
        '{"g": 1e400}',
        '{"g": -1e400}',
        '{"t": "2020-01-01T00:00:00.1234567Z"}',
        '{"l": [1.5, 1.55]}',
        '{"m": {"a": 1, "b": 3.5e38}}',
    ],
)
def test_no_digits_are_lost(document: str) -> None:
    """Reads of JSON round decimals, and make infinity of what is too large; so does `from_json`."""
    with pytest.raises(BrokenLineError, match=r"line 8: value\.[a-z]: it does not fit"):
        values(encoding_for("t", NUMBERS), "{}", document)


@pytest.mark.parametrize(
    ("document", "written"),
    [
        ('{"d": 1.2300}', '{"d":1.23}'),
        ('{"d": 123e0}', '{"d":123.00}'),
        ('{"d": 1230e-3}', '{"d":1.23}'),
        ('{"d": 0.000}', '{"d":0.00}'),
        ('{"d": 0e-9}', '{"d":0.00}'),
        ('{"f": 0.1, "g": 0.1}', '{"f":0.1,"g":0.1}'),
        ('{"f": 3.4028235e38}', '{"f":3.4028235E38}'),
        ('{"g": "Infinity"}', '{"g":"Infinity"}'),
        ('{"t": "2020-01-01T00:00:00.123456000Z"}', '{"t":"2020-01-01T00:00:00.123456Z"}'),
    ],
)
def test_what_has_the_same_value_fits(document: str, written: str) -> None:
    assert values(encoding_for("t", NUMBERS), document) == [written.encode()]


def test_json_without_a_type_is_written_as_it_is() -> None:
    options = {"value.format": "json", "key.format": "json", "mode": "PERMISSIVE"}
    encoding = encoding_for("t", options)
    (line,) = read_lines([b'{"key": 1.10, "value": {"a":  [1]}}'], "json", encoding.encoders, 1)
    rows = encoding.encode([line], None)
    assert rows.column(COLUMNS.value).to_pylist() == [b'{"a":  [1]}']
    assert rows.column(COLUMNS.key).to_pylist() == [b"1.10"]


def test_json_of_a_type() -> None:
    encoding = encoding_for("t", {"value.format": "json", "value.schema": "id BIGINT, d DOUBLE"})
    assert values(encoding, '{"d": 1e0, "id": 9007199254740993}') == [
        b'{"id":9007199254740993,"d":1.0}'
    ]


def test_a_value_that_is_no_record() -> None:
    encoding = encoding_for("t", {"value.format": "avro", "value.schema": '"string"'})
    assert values(encoding, '"a\\u00e9"') == [b"\x06a\xc3\xa9"]


def test_wrong_options() -> None:
    with pytest.raises(KafkaConfigError, match="did you mean"):
        encoding_for("t", {"value.formt": "json"})
    with pytest.raises(KafkaConfigError, match="which is for reads"):
        encoding_for("t", {"value.format": "json", "value.framing": "connect"})
