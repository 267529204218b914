"""Events that a real Debezium wrote: 3.6.1 on Kafka Connect 4.3.1, of PostgreSQL 18.6.

`python -m tests.change_data.record` wrote them, and has the statements. The first part of a topic's
name is how its connector was configured: JSON `plain` or `told` (with schemas), `avro` by
Apicurio's converter (`as-confluent=true`); other connectors have another `time.precision.mode`. The
table `items` has REPLICA IDENTITY DEFAULT and six columns that are TOAST, `whole` and `keyless`
have FULL.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.debezium.query import DebeziumQuery
from kafka_formats.errors import MalformedRecordError
from kafka_formats.options.alone import parse_alone
from tests.fakes.registry import registry, subjects
from tests.formats.debezium.events import Record, read, rows_of

FILE = Path(__file__).with_name("recorded_events.json.gz")
RECORDED = json.loads(gzip.decompress(FILE.read_bytes()))
DDL = (
    "id int, name string, note string, flag boolean, tiny smallint, big bigint, real4 float, "
    "real8 double, price decimal(10,2), wide decimal(38,2), "
    "free struct<scale: int, value: binary>, cash decimal(19,2), data binary, day date, "
    "clock bigint, clock3 bigint, clock_tz string, at timestamp_ntz, at3 bigint, "
    "at_tz timestamp, lasts bigint, doc string, uid string, color string, bits binary, "
    "texts array<string>, numbers array<int>, days array<date>, moments array<timestamp_ntz>, "
    "prices array<decimal(6,2)>, added string"
)
MICROS = {"debezium.time.precision.mode": "microseconds"}
AT = datetime(2026, 1, 2, 3, 4, 5, 678_901)
PEAR: dict[str, Any] = {
    "name": "pear",
    "note": "n",
    "flag": True,
    "tiny": -5,
    "big": 9_000_000_000,
    "real4": 0.5,
    "real8": 0.1,
    "price": Decimal("1.25"),
    "wide": "123456789012345678901234567890123456789012.50",
    "free": "12.345",
    "cash": "7.50",
    "data": b"\0\1",
    "day": date(2024, 10, 4),
    "clock": 86_399_123_456,
    "clock3": 3_723_004,
    "clock_tz": "08:00:00Z",
    "at": AT,
    "at3": AT.replace(microsecond=678_000),
    "at_tz": datetime(2026, 1, 2, 2, 4, 5, 678_901, timezone.utc),
    "lasts": 31_730_400_000_000,
    "doc": '{"a": 1}',
    "uid": "30ef7d54-0d88-353b-ae90-3e22c1b6c5a2",
    "color": "green",
    "bits": b"\xaa\x02",
    "texts": ["x", None],
    "numbers": [1, 2],
    "days": [date(2024, 10, 4)],
    "moments": [AT],
    "prices": [Decimal("1.25"), None],
}
# What other modes make of the row.
MODES: dict[str, dict[str, Any]] = {
    "told": {},
    "avro": {},
    "connect": {
        "price": 1.25,
        "wide": 123456789012345678901234567890123456789012.50,
        "free": 12.345,
        "cash": 7.5,
        "clock": 86_399_123,
        "at": PEAR["at3"],
        "moments": [PEAR["at3"]],
        "prices": [1.25, None],
    },
    "iso": {
        "price": "1.25",
        "clock": "23:59:59.123456Z",
        "clock3": "01:02:03.004Z",
        "lasts": "P1Y0M2DT0H0M0S",
        "prices": ["1.25", None],
    },
    "nanos": {"clock": 86_399_123_456_000, "clock3": 3_723_004_000_000},
}
TOAST = ["note", "data", "doc", "texts", "numbers", "days"]
# Debezium writes null for the dates in these modes.
LOST = {"connect": ["days"], "iso": ["days"]}


def recorded(topic: str) -> list[Record]:
    def bytes_of(text: str | None) -> bytes | None:
        return None if text is None else base64.b64decode(text)

    return [(bytes_of(key), bytes_of(value)) for key, value in RECORDED["topics"][topic]]


def schema_in(payloads: list[bytes | None]) -> str:
    """The schema of the last document."""
    last = [each for each in payloads if each is not None][-1]
    return json.dumps(json.loads(last)["schema"])


def json_options(topic: str) -> dict[str, str]:
    given = recorded(topic)
    if topic.partition(".")[0].endswith("plain"):
        key = {"key.format": "raw"} if "keyless" in topic else {"key.schema": "id int"}
        return {"value.format": "json", "value.schema": DDL, **key, **MICROS}
    keys = [key for key, _ in given]
    key = {"key.schema": schema_in(keys)} if any(keys) else {"key.format": "raw"}
    return {"value.format": "json", "value.schema": schema_in([value for _, value in given]), **key}


@contextmanager
def options_for(topic: str) -> Iterator[dict[str, str]]:
    if not topic.startswith("avro"):
        yield json_options(topic)
        return
    found: dict[str, list[dict[str, Any]]] = {}
    for pair in recorded(topic):
        for side, payload in zip(("key", "value"), pair, strict=True):
            if payload is not None:
                number = int.from_bytes(payload[1:5], "big")
                version = {"id": number, "schema": RECORDED["schemas"][str(number)]}
                versions = found.setdefault(f"{topic}-{side}", [])
                if version not in versions:
                    versions.append(version)
    has_keys = f"{topic}-key" in found
    with registry(subjects(**found)) as fake:
        key = {} if has_keys else {"key.format": "raw"}
        yield {"value.format": "avro", "schema.registry.url": fake.url, **key}


def rows(
    topic: str, types: Mapping[str, pa.DataType] | None = None, **more: str
) -> list[dict[str, Any]]:
    # Python has not the year of infinity.
    given = [each for each in recorded(topic) if b"nulls" not in (each[1] or b"")]
    with options_for(topic) as options:
        read = parse_alone({"envelope": "debezium", **options, **more})
        query = DebeziumQuery(read.formats, read.envelope.debezium, [topic], has_headers=False)
        return rows_of(query.stages(query.wanted(None, types or {})), given)


@pytest.mark.no_cover
@pytest.mark.parametrize("mode", MODES)
def test_all_types_of_postgresql(mode: str) -> None:
    found = rows(f"{mode}.public.items")
    pear = PEAR | MODES[mode]
    for number, row in enumerate(found[:2], start=1):
        assert {name: row[name] for name in pear} == pear
        assert (row["id"], row["_unavailable"]) == (number, [])
    assert [row["op"] for row in found[:2]] == ["r", "c"]
    assert found[0]["source"]["snapshot"] == "first"
    assert found[1]["source"]["table"] == "items"


@pytest.mark.no_cover
@pytest.mark.parametrize("mode", ["told", "avro", "connect", "iso", "plain"])
def test_updates_deletes_and_a_column_that_is_added(mode: str) -> None:
    found = rows(f"{mode}.public.items", {"wide": pa.string()} if mode == "plain" else None)[2:]
    # In Avro the schema has the default of the database, and so have rows of before.
    before = "d" if mode == "avro" else None
    facts = [(row["op"], row["id"], row["name"], row["key"]["id"], row["added"]) for row in found]
    assert facts == [
        ("u", 2, "plum", 2, before),
        ("d", 1, "", 1, before),
        ("c", 20, "pear", 20, before),
        ("d", 2, "", 2, before),
        ("c", 4, "new", 4, "a"),
        ("c", 5, "last", 5, "d"),
    ]
    toast = [name for name in TOAST if name not in LOST.get(mode, [])]
    assert sorted(found[0]["_unavailable"]) == sorted(toast)
    assert [found[0][name] for name in TOAST] == [None] * 6
    assert all(row["_unavailable"] == [] for row in found[1:])


@pytest.mark.parametrize("mode", ["plain", "micros_plain"])
def test_all_types_without_schemas(mode: str) -> None:
    with pytest.raises(MalformedRecordError, match=r"field wide: the value of .* does not fit"):
        rows(f"{mode}.public.items")
    found = rows(f"{mode}.public.items", {"wide": pa.string()})
    pear = PEAR | {
        "wide": "AI24sIP3vY/gXdt+VfLYfpawAg==",
        "free": {"scale": 3, "value": b"09"},
        "cash": Decimal("7.50"),
        "at3": 1_767_323_045_678 if mode == "plain" else 1_767_323_045_678_000,
        "clock3": PEAR["clock3"] if mode == "plain" else PEAR["clock3"] * 1_000,
    }
    assert {name: found[0][name] for name in pear} == pear


def test_infinity_is_a_value() -> None:
    given = recorded("told.public.items")[2:3]
    read = parse_alone({"envelope": "debezium", **json_options("told.public.items")})
    query = DebeziumQuery(read.formats, read.envelope.debezium, ["t"], has_headers=False)
    (row,) = rows_of(query.stages(query.wanted(["id", "at3"], {"at3": pa.int64()})), given)
    assert row == {"id": 3, "at3": 9_223_372_036_825_200}


@pytest.mark.parametrize("mode", ["told", "avro"])
def test_a_table_with_replica_identity_full_and_one_without_a_key(mode: str) -> None:
    found = rows(f"{mode}.public.whole")
    assert [(row["op"], row["id"], row["note"], row["price"]) for row in found] == [
        ("r", 1, "a", Decimal("1.50")),
        ("u", 1, "a", Decimal("2.50")),
        ("d", 1, "a", Decimal("2.50")),
        ("c", 5, "last", Decimal("1.00")),
    ]
    keyless = rows(f"{mode}.public.keyless")
    assert [(row["op"], row["a"], row["b"], row["key"]) for row in keyless] == [
        ("r", 1, "a", None),
        ("u", 1, "b", None),
        ("d", 1, "b", None),
        ("c", 5, "last", None),
    ]


@pytest.mark.parametrize("mode", ["told", "avro"])
def test_the_row_before_a_change(mode: str) -> None:
    """With `REPLICA IDENTITY FULL` all of it; with DEFAULT only the key, and only of a delete."""

    def before(table: str) -> list[tuple[str, dict[str, Any] | None]]:
        found = rows(f"{mode}.public.{table}", None, **{"debezium.before": "true"})
        return [(row["op"], row["before"]) for row in found]

    first = {"id": 1, "note": "a", "price": Decimal("1.50")}
    second = first | {"price": Decimal("2.50")}
    assert before("whole") == [("r", None), ("u", first), ("d", second), ("c", None)]
    keyless = [{"a": 1, "b": "a"}, {"a": 1, "b": "b"}]
    assert before("keyless") == [("r", None), ("u", keyless[0]), ("d", keyless[1]), ("c", None)]
    items = before("items")
    deleted = [each for op, each in items if op == "d"]
    assert [each and each["id"] for each in deleted] == [1, 2]
    assert {each and each["note"] for each in deleted} == {None}
    assert [each for op, each in items if op == "u"] == [None]


def test_topics_beside_those_of_tables() -> None:
    options = {"envelope": "debezium", "value.format": "json", "value.schema": "id int"}
    read = parse_alone({**options, "debezium.otherEvents": "keep"})
    query = DebeziumQuery(read.formats, read.envelope.debezium, ["t"], has_headers=False)
    decoder = query.stages(query.wanted(["op", "id"], {}))
    for topic in ("plain.message", "told.message"):
        assert rows_of(decoder, recorded(topic)) == [{"op": "m", "id": None}]
    for topic in ("__debezium-heartbeat.plain", "__debezium-heartbeat.told"):
        with pytest.raises(
            MalformedRecordError, match=r"transactions(?: and messages)? have topics"
        ):
            rows_of(decoder, recorded(topic))


def test_the_recorded_events_are_read_with_a_ddl() -> None:
    given: list[Record] = [(None, value) for _, value in recorded("told.public.items") if value]
    options = {"value.format": "json", "value.schema": "id int", "key.format": "raw"}
    found = read({**options, "mode": "PERMISSIVE"}, given, None, ["id", "op", "source", "_error"])
    assert {row["_error"] for row in found} == {None}
    assert all(int(row["source"]["txId"]) > 0 for row in found)
