"""The rows of dead letters: payloads as they came, and headers with the reason."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import UnknownSchemaError
from kafka_formats.payload.columns import Fault
from kafka_formats.query.decoder import BrokenRecord
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE
from kafka_spark_source.reading.dead_letters import rows_of, safest
from kafka_spark_source.tools.records.dead_letters import dead_letter_of

VALUE = ("value", Fault(7, "lines.price", "it ends too early"))
KEY = ("key", Fault(None, "", "it is \ud800 not UTF-8"))
UNKNOWN = ("value", Fault(8, "", "there is none", UnknownSchemaError))


def records(*rows: tuple[bytes | None, bytes | None, list[Any] | None, int]) -> pa.RecordBatch:
    keys, values, headers, times = zip(*rows, strict=True)
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "headers": pa.array(headers, HEADERS_TYPE),
            "timestampMs": pa.array(times, pa.int64()),
        }
    )


def headers_of(rows: pa.RecordBatch, row: int) -> list[tuple[str, bytes | None]]:
    return [(each["key"], each["value"]) for each in rows.column("headers")[row].as_py()]


def test_the_headers_are_those_of_connect() -> None:
    own = [{"key": "trace", "value": b"1"}, {"key": "empty", "value": None}]
    rows = rows_of(
        records((b"k", b"\xff", own, 1_000), (None, None, None, -1)),
        [BrokenRecord("orders", 3, 42, [VALUE]), BrokenRecord("orders", 4, 43, [KEY, VALUE])],
    )
    assert headers_of(rows, 0) == [
        ("trace", b"1"),
        ("empty", None),
        ("__connect.errors.topic", b"orders"),
        ("__connect.errors.partition", b"3"),
        ("__connect.errors.offset", b"42"),
        ("__connect.errors.stage", b"VALUE_CONVERTER"),
        ("__connect.errors.exception.class.name", b"kafka_formats.errors.PayloadError"),
        (
            "__connect.errors.exception.message",
            b"the value (schema id 7): field lines.price: it ends too early",
        ),
        ("__pykafka.errors.schema.id", b"7"),
        ("__pykafka.errors.timestamp", b"1000"),
    ]
    both = dict(headers_of(rows, 1))
    assert both["__connect.errors.stage"] == b"KEY_CONVERTER"
    assert both["__connect.errors.exception.message"] == (
        b"the key: it is \\ud800 not UTF-8; the value (schema id 7): field lines.price: it ends "
        b"too early"
    )
    assert "__pykafka.errors.schema.id" not in both
    assert both["__pykafka.errors.timestamp"] == b"-1"
    assert rows.schema.names == ["value", "key", "headers"]  # the time is that of the write


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"acks": "1"},
        {"acks": "1", "retries": "0", "max.in.flight.requests.per.connection": "9"},
        {"enable.idempotence": "false"},
    ],
)
def test_the_read_does_not_make_dead_letters_less_sure(options: dict[str, str]) -> None:
    config = safest(ClientConfig.from_options({"bootstrap.servers": "a:1", **options}))
    usual = ClientConfig.from_options({"bootstrap.servers": "a:1"})
    assert config == usual


def test_the_class_is_that_of_the_first_fault() -> None:
    rows = rows_of(
        records((b"k", b"\xff", None, 1), (b"k", b"\xff", None, 1)),
        [BrokenRecord("t", 0, 0, [UNKNOWN]), BrokenRecord("t", 0, 1, [KEY, UNKNOWN])],
    )
    classes = [
        dict(headers_of(rows, row))["__connect.errors.exception.class.name"] for row in (0, 1)
    ]
    assert classes == [
        b"kafka_formats.errors.UnknownSchemaError",
        b"kafka_formats.errors.PayloadError",
    ]


LONGS = st.integers(-(2**63), 2**63 - 1)
OWN = st.lists(
    st.fixed_dictionaries({"key": st.text(max_size=3), "value": st.none() | st.binary(max_size=3)}),
    max_size=3,
)
ROWS = st.lists(
    st.tuples(st.none() | st.binary(), st.none() | st.binary(), st.none() | OWN, LONGS), min_size=1
)


@given(ROWS)
def test_payloads_and_headers_stay_as_they_came(given_rows: list[Any]) -> None:
    broken = [BrokenRecord("t", 0, number, [VALUE]) for number in range(len(given_rows))]
    rows = rows_of(records(*given_rows), broken)
    for number, (key, value, own, time_ms) in enumerate(given_rows):
        assert rows.column("key")[number].as_py() == key
        assert rows.column("value")[number].as_py() == value
        headers = headers_of(rows, number)
        assert headers[: len(own or [])] == [(each["key"], each["value"]) for each in own or []]
        letter = dead_letter_of(headers)
        assert letter is not None
        assert (letter.topic, letter.offset) == ("t", str(number))
        assert headers[-1] == ("__pykafka.errors.timestamp", b"%d" % time_ms)
