"""Deletes as converters write them: a value of null in each format, framing and place of an id.

The witness is a dict of the keys, and a table of the bytes that converters write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import RegistryError
from tests.fakes.registry import Received, Reply
from tests.formats.avro.payloads import varint
from tests.formats.debezium.events import Record, connect_envelope, event, read
from tests.formats.suite.form import Form
from tests.formats.suite.of_avro import AVRO
from tests.formats.suite.of_json import JSON_DDL
from tests.formats.suite.of_protobuf import PROTOBUF
from tests.formats.suite.places import CONNECT, GIVEN, IN_GLUE, PLACES, PREFIX, Place, id_of
from tests.formats.suite.reading import NULL, Query, Value
from tests.formats.suite.topics import PERMISSIVE, Topic, each_place, topic

VALUE: Final = pa.struct([pa.field("name", pa.string())])
UPSERT: Final = {"envelope": "upsert"}
RECORD: Final[Any] = json.loads(AVRO.schema(VALUE))
# Versions in Avro: the null is nowhere, first, last, and beyond 64 branches. The last one is read.
MANY: Final = [{"type": "enum", "name": f"E{n}", "symbols": ["A"]} for n in range(70)]
WRITERS: Final = [RECORD, [RECORD, "null"], [*MANY, "null", RECORD], "null", ["null", RECORD]]
# Version -> what is before a row, and the payload of null; None where there is none.
BRANCHES: Final[Mapping[int, tuple[bytes | None, bytes | None]]] = {
    1: (b"", None),
    2: (varint(0), varint(1)),
    3: (varint(71), varint(70)),
    4: (None, b""),
    5: (varint(1), varint(0)),
}
BLANKS: Final = (b"null", b" null\n", b"\t\r\n null ")
SCHEMA: Final = {
    "type": "struct",
    "optional": True,
    "fields": [{"field": "name", "type": "string", "optional": True}],
}


def wrapped(payload: Any, **more: Any) -> bytes:
    return json.dumps({"schema": SCHEMA, "payload": payload} | more).encode()


WRAPPED_NULLS: Final = (
    wrapped(None),
    wrapped(None, schema=None),
    b'{"payload" :null , "schema": {"type":"string","optional":true}}',
    wrapped(None, schema={"type": "struct", "fields": [], "default": {"name": "null"}}),
)


def values_topic(form: Form, place: Place) -> Any:
    return topic(form, place, *(map(json.dumps, WRITERS) if form is AVRO else [VALUE]))


def as_written(orders: Topic) -> tuple[list[Callable[[str], Value]], list[Value]]:
    """How a row with a name is written, and how null is."""

    def row(version: int, start: bytes) -> Callable[[str], Value]:
        return lambda name: orders.framed(
            version, start + orders.form.encode(VALUE, {"name": name})
        )

    if orders.form is AVRO:
        known = {5: BRANCHES[5]} if orders.place is GIVEN else BRANCHES
        starts = {version: start for version, (start, _) in known.items() if start is not None}
        return [row(*each) for each in starts.items()], [
            orders.framed(version, null) for version, (_, null) in known.items() if null is not None
        ]
    rows = [row(1, b"")]
    if orders.form is PROTOBUF:
        # Confluent's converter writes no payload for null.
        return rows, []
    if orders.place is PREFIX:
        rows.append(row(2**31 - 1, b""))
    if orders.place is CONNECT:
        rows.append(lambda name: Value(json.dumps({"name": name}).encode()))
        return rows, [*map(Value, (*WRAPPED_NULLS, *BLANKS))]
    return rows, [orders.framed(1, each) for each in BLANKS]


KEYS: Final = st.sampled_from([b"1", b"2", b"3", b"4"])
NAMES: Final = st.sampled_from(["pear", "null", "", '"null"', "}null"])


@pytest.mark.usefixtures("aws")
@each_place(*PLACES, IN_GLUE)
@pytest.mark.parametrize("columns", [["key", "value", "op"], ["key"]], ids=["all", "keys"])
def test_a_value_of_null_deletes_its_key(form: Form, place: Place, columns: list[str]) -> None:
    """In a batch, and in a stream, which has a row for the delete."""
    with values_topic(form, place) as orders:
        rows, nulls = as_written(orders)
        queries = {
            each: orders.query(columns, {**UPSERT, "upsert.tombstones": each})
            for each in ("drop", "keep")
        }

        @given(
            st.lists(st.tuples(KEYS, NAMES, st.booleans(), st.integers(0, 9)), max_size=30),
            st.sampled_from([*queries]),
        )
        def check(moves: list[tuple[bytes, str, bool, int]], tombstones: str) -> None:
            table: dict[bytes, str | None] = {}
            values: list[Value] = []
            for key, name, is_delete, at in moves:
                kinds = [NULL, *nulls] if is_delete else [each(name) for each in rows]
                values.append(kinds[at % len(kinds)])
                table.pop(key, None)
                table[key] = None if is_delete else name
            expected = [
                {
                    "key": key,
                    "value": None if name is None else {"name": name},
                    "op": "d" if name is None else "u",
                }
                for key, name in table.items()
                if name is not None or tombstones == "keep"
            ]
            found = queries[tombstones].read(*values, keys=[each[0] for each in moves])
            assert found == [{name: row[name] for name in columns} for row in expected]

        check()


def test_what_only_looks_like_null_is_no_delete() -> None:
    """Payloads that are broken, or that a decoder reads as null although no converter writes so."""
    looks = [b'"null"', b"nul", b"nulls", b"", b" ", b'{"payload":null}', b"\xff null"]
    with values_topic(JSON_DDL, GIVEN) as orders:
        query = orders.query(["op"], {**UPSERT, **PERMISSIVE})
        rows = query.read(*map(Value, looks), keys=[b"%d" % at for at in range(len(looks))])
    assert [row["op"] for row in rows] == ["u"] * len(looks)
    unframed = [b"null", b"\0\0\0", id_of(77) + b"\0"]
    with values_topic(AVRO, PREFIX) as orders:
        query = orders.query(["key", "op"], UPSERT)
        assert len(query.read(*map(Value, unframed), keys=[b"a", b"b", b"c"])) == len(unframed)


def test_a_value_without_a_format_is_null_only_by_itself() -> None:
    options = {"key.format": "json", "key.schema": "id bigint", **UPSERT}
    given_keys = [b'{"id":1}', b'{"id":2}']
    rows = Query(options, ["key", "op"]).read(Value(b"null"), NULL, keys=given_keys)
    assert rows == [{"key": {"id": 1}, "op": "u"}]


def test_without_its_registry_it_is_not_known_what_null_is() -> None:
    """Nothing is decided then: the task fails, and runs again."""
    with values_topic(AVRO, PREFIX) as orders:
        query = orders.query(["key"], UPSERT)
        answers = orders.fake.respond

        def failing(request: Received) -> Reply:
            return Reply(500) if request.path.startswith("/schemas/ids/77") else answers(request)

        orders.fake.respond = failing
        with pytest.raises(RegistryError, match="schema id 77"):
            query.read(Value(id_of(77) + b"\0"), keys=[b"1"])


@pytest.mark.parametrize(
    "tombstone",
    [None, b"null", b" null ", wrapped(None), wrapped(None, schema=None)],
)
def test_tombstones_of_debezium_in_those_forms_are_left_out(tombstone: bytes | None) -> None:
    schema = connect_envelope({"id": "int64"})
    insert = wrapped(event("c", after={"id": 1}), schema=schema)
    options = {"value.format": "json", "value.schema": "id bigint"}
    changes: list[Record] = [(None, insert), (None, tombstone), (None, insert)]
    for mode in ("FAILFAST", "PERMISSIVE"):
        rows = read({**options, "mode": mode}, changes, columns=["id", "offset"])
        assert rows == [{"id": 1, "offset": 0}, {"id": 1, "offset": 2}]
