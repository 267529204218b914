from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
import pytest

from kafka_protocol.columnar.schema import RECORD_SCHEMA
from tests.endurance.torture.expected import BLANK
from tests.endurance.torture.rows import Row
from tests.endurance.torture.ways.tables import groups_of, rows_of

AT = datetime(2023, 11, 14, 22, 13, 20, 7_000, tzinfo=timezone.utc)
HEADERS = [{"key": "a", "value": b"1"}, {"key": "a", "value": None}]
RECORDS = [
    (b"k", b"", "t", 1, 5, AT, 0, HEADERS),
    (None, None, "t", 1, 6, AT, 1, None),
    (b"", b"v", "t", 0, 2, AT, 0, []),
]
TABLE = pa.Table.from_pylist(
    [dict(zip(RECORD_SCHEMA.names, each, strict=True)) for each in RECORDS], RECORD_SCHEMA
)
ROWS = [
    Row("t", 1, 5, 1_700_000_000_007, 0, b"k", b"", (("a", b"1"), ("a", None))),
    Row("t", 1, 6, 1_700_000_000_007, 1, None, None),
    Row("t", 0, 2, 1_700_000_000_007, 0, b"", b"v"),
]


def test_every_column() -> None:
    assert rows_of(TABLE) == ROWS


def test_other_columns_are_blank() -> None:
    narrow = rows_of(TABLE.select(["offset", "value"]))
    assert narrow == [BLANK._replace(offset=row.offset, value=row.value) for row in ROWS]


def test_text_and_maps_are_bytes_and_pairs_again() -> None:
    headers = pa.array([[("a", b"1")], None, []], pa.map_(pa.string(), pa.binary()))
    key = pa.array([b"k", None, b"\xff"]).view(pa.string())
    found = rows_of(pa.table({"key": key, "headers": headers}))
    assert [(row.key, row.headers) for row in found] == [
        (b"k", (("a", b"1"),)),
        (None, ()),
        (b"\xff", ()),
    ]


def test_groups_keep_the_order_of_rows() -> None:
    table = TABLE.append_column("task", pa.array([7, 3, 7]))
    assert groups_of(table, "task") == [[ROWS[0], ROWS[2]], [ROWS[1]]]


def test_a_part_of_a_millisecond_is_an_error() -> None:
    table = pa.table({"timestamp": pa.array([1_001], pa.timestamp("us", tz="UTC"))})
    with pytest.raises(AssertionError, match="whole milliseconds"):
        rows_of(table)
