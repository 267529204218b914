"""Deletes as converters write them: a value of null in each format, framing and place of an id.

The witness is a dict of the keys, and a table of the bytes that converters write.
"""

from __future__ import annotations

import io
import json
import pickle
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import RegistryError
from kafka_formats.options.alone import parse_alone
from kafka_formats.payload.nulls import NullPayloads
from kafka_formats.query.decoder import Decoder
from kafka_formats.query.query_formats import QueryFormats, decoder_of
from kafka_formats.query.stage import through
from kafka_formats.upsert.upsert import Upsert
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE, RECORD_SCHEMA
from tests.fakes.glue import glue, version_id
from tests.fakes.registry import Received, Reply, registry, subjects
from tests.formats.debezium.events import Record, connect_envelope, event, read

VALUE: Final[Mapping[str, Any]] = {
    "type": "record",
    "name": "Value",
    "fields": [{"name": "name", "type": ["null", "string"], "default": None}],
}
PROTO: Final = 'syntax = "proto3"; message Value { optional string name = 1; }'
JSON_SCHEMA: Final = json.dumps({"type": "object", "properties": {"name": {"type": "string"}}})
CONNECT: Final = {
    "type": "struct",
    "optional": True,
    "fields": [{"field": "name", "type": "string", "optional": True}],
}
# Versions of a subject in Avro: the null is nowhere, first, last, and beyond 64 branches.
MANY: Final = [{"type": "enum", "name": f"E{n}", "symbols": ["A"]} for n in range(70)]
WRITERS: Final = [VALUE, ["null", VALUE], [VALUE, "null"], [*MANY, "null", VALUE], "null"]
LATEST: Final = ["null", VALUE]


class Form(NamedTuple):
    """How a converter writes.

    Attributes:
        options: Of a read.
        rows: The payloads of a row with a name, by its JSON text.
        nulls: The payloads of null.
        headers: Of the records: a value for the name of the header.
    """

    options: Mapping[str, str]
    rows: list[Any]
    nulls: list[bytes]
    headers: Mapping[str, bytes] = {}


def avro(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return out.getvalue()


def id_of(number: int) -> bytes:
    return b"\0" + number.to_bytes(4, "big")


def glue_frame(number: int, payload: bytes, *, packed: bool = False) -> bytes:
    header = bytes([3, 5 if packed else 0]) + version_id("t", number).bytes
    return header + (zlib.compress(payload) if packed else payload)


def document(name: str) -> bytes:
    return json.dumps({"name": name}).encode()


def wrapped(payload: Any, **more: Any) -> bytes:
    return json.dumps({"schema": CONNECT, "payload": payload} | more).encode()


JSON: Final = {"value.format": "json", "value.schema": "name string"}
FRAMED: Final = {"schema.registry.url": "URL"}
GLUE: Final = {"value.framing": "glue", "schema.registry.glue.region": "eu-west-1"} | {
    "schema.registry.glue.endpoint": "URL"
}
BLANKS: Final = (b"null", b" null\n", b"\t\r\n null ")
FORMS: Final[Mapping[str, Form]] = {
    "JSON": Form(JSON, [document], [*BLANKS]),
    "JSON of Connect": Form(
        {**JSON, "value.framing": "connect"},
        [document, lambda name: wrapped({"name": name})],
        [
            wrapped(None),
            wrapped(None, schema=None),
            b'{"payload" :null , "schema": {"type":"string","optional":true}}',
            wrapped(None, schema={"type": "struct", "fields": [], "default": {"name": "null"}}),
            *BLANKS,
        ],
    ),
    "JSON Schema": Form(
        {"value.format": "json", **FRAMED},
        [lambda name: id_of(1) + document(name), lambda name: id_of(2**31 - 1) + document(name)],
        [id_of(1) + each for each in BLANKS],
    ),
    "JSON Schema, the id in a header": Form(
        {"value.format": "json", **FRAMED},
        [document],
        [*BLANKS],
        {"__value_schema_id": id_of(1)},
    ),
    "JSON in Glue": Form(
        {"value.format": "json", **GLUE},
        [
            lambda name: glue_frame(1, document(name)),
            lambda name: glue_frame(1, document(name), packed=True),
        ],
        [glue_frame(1, b"null"), glue_frame(1, b" null", packed=True)],
    ),
    "Avro": Form(
        {"value.format": "avro", "value.schema": json.dumps(LATEST)},
        [lambda name: avro(LATEST, {"name": name})],
        [avro(LATEST, None)],
    ),
    "Avro with a registry": Form(
        {"value.format": "avro", **FRAMED},
        [
            lambda name: id_of(1) + avro(VALUE, {"name": name}),
            lambda name: id_of(2) + avro(WRITERS[1], {"name": name}),
            lambda name: id_of(3) + avro(WRITERS[2], {"name": name}),
        ],
        [id_of(number) + avro(WRITERS[number - 1], None) for number in (2, 3, 4, 5)],
    ),
    "Avro in Glue": Form(
        {"value.format": "avro", **GLUE},
        [
            lambda name: glue_frame(1, avro(VALUE, {"name": name})),
            lambda name: glue_frame(2, avro(WRITERS[1], {"name": name}), packed=True),
        ],
        [glue_frame(2, avro(WRITERS[1], None)), glue_frame(5, b"", packed=True)],
    ),
    # Confluent's converter writes no payload for null.
    "Protobuf": Form(
        {"value.format": "protobuf", "value.schema": PROTO},
        [lambda name: bytes([0x0A, len(name.encode())]) + name.encode()],
        [],
    ),
}


def respond(form: str) -> Any:
    """The responses of the registry of a form."""
    if form.endswith("Glue"):
        texts = [JSON_SCHEMA] if form.startswith("JSON") else [*map(json.dumps, WRITERS)]
        kind = "JSON" if form.startswith("JSON") else "AVRO"
        # The latest version is what is read as.
        return glue({"t": texts, "latest": [json.dumps(LATEST)]}, kind=kind)
    if form.startswith("JSON"):
        return subjects(t__value=[{"schema": JSON_SCHEMA, "id": 1, "schemaType": "JSON"}])
    versions = [{"schema": json.dumps(each), "id": at} for at, each in enumerate(WRITERS, 1)]
    return subjects(t__value=[*versions, {"schema": json.dumps(LATEST), "id": 9}])


@contextmanager
def decoding(
    form: str, columns: list[str], *, mode: str = "FAILFAST"
) -> Iterator[tuple[Decoder, NullPayloads | None]]:
    """The decoder of a query, and its values that delete a key."""
    with registry(respond(form)) as fake:
        given = {
            name: fake.url if value == "URL" else value
            for name, value in FORMS[form].options.items()
        }
        if form == "Avro in Glue":
            given["value.subject"] = "latest"
        parsed = parse_alone({"envelope": "upsert", "mode": mode, **given})
        query = QueryFormats(parsed.formats, ["t"])
        known = {field.name: field.type for field in RECORD_SCHEMA}
        known |= {"op": pa.string(), **query.columns()}
        wanted = pa.schema([(name, known[name]) for name in columns])
        decoder = decoder_of(wanted, query, checked_text=[], mode=parsed.formats.mode)
        yield pickle.loads(pickle.dumps((decoder, query.nulls("value"))))


def batch_of(records: Sequence[tuple[bytes, bytes | None]], headers: Mapping[str, bytes]) -> Any:
    count = len(records)
    given = [{"key": name, "value": value} for name, value in headers.items()]
    arrays = {
        "key": pa.array([key for key, _ in records], pa.binary()),
        "value": pa.array([value for _, value in records], pa.binary()),
        "topic": pa.array(["t"] * count),
        "partition": pa.array([0] * count, pa.int32()),
        "offset": pa.array(range(count), pa.int64()),
        "headers": pa.array([given or None] * count, HEADERS_TYPE),
    }
    return pa.RecordBatch.from_arrays([*arrays.values()], [*arrays])


def rows_of(
    decoding: tuple[Decoder, NullPayloads | None],
    records: Sequence[tuple[bytes, bytes | None]],
    headers: Mapping[str, bytes],
    tombstones: str,
) -> list[dict[str, Any]]:
    options = parse_alone({"envelope": "upsert", "upsert.tombstones": tombstones}).envelope
    decoder, nulls = decoding
    upsert = Upsert(decoder.source_columns, options, nulls=nulls)
    batch = batch_of(records, headers).select([*upsert.source_columns])
    return [row for each in through((upsert, decoder), [batch]) for row in each.to_pylist()]


KEYS: Final = st.sampled_from([b"1", b"2", b"3", b"4"])
NAMES: Final = st.sampled_from(["pear", "null", "", '"null"', "}null"])


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("columns", [["key", "value", "op"], ["key"]], ids=["all", "keys"])
def test_a_value_of_null_deletes_its_key(form: str, columns: list[str]) -> None:
    """In a batch, and in a stream, which has a row for the delete."""
    rows, nulls, headers = FORMS[form][1:]

    with decoding(form, columns) as query:

        @given(
            st.lists(st.tuples(KEYS, NAMES, st.booleans(), st.integers(0, 9)), max_size=30),
            st.sampled_from(["drop", "keep"]),
        )
        def check(moves: list[tuple[bytes, str, bool, int]], tombstones: str) -> None:
            table: dict[bytes, str | None] = {}
            records: list[tuple[bytes, bytes | None]] = []
            for key, name, is_delete, at in moves:
                kinds = [None, *nulls] if is_delete else [each(name) for each in rows]
                records.append((key, kinds[at % len(kinds)]))
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
            found = rows_of(query, records, headers, tombstones)
            assert found == [{name: row[name] for name in columns} for row in expected]

        check()


def test_what_only_looks_like_null_is_no_delete() -> None:
    """Payloads that are broken, or that a decoder reads as null although no converter writes so."""
    looks = [b'"null"', b"nul", b"nulls", b"", b" ", b'{"payload":null}', b"\xff null"]
    with decoding("JSON", ["key", "value", "op"], mode="PERMISSIVE") as query:
        rows = rows_of(query, [(b"%d" % at, each) for at, each in enumerate(looks)], {}, "drop")
    assert [row["op"] for row in rows] == ["u"] * len(looks)
    unframed = [b"null", b"\0\0\0", id_of(77) + b"\0"]
    with decoding("Avro with a registry", ["key", "op"]) as query:
        given = [(b"%d" % at, each) for at, each in enumerate(unframed)]
        assert len(rows_of(query, given, {}, "drop")) == len(unframed)


def test_without_its_registry_it_is_not_known_what_null_is() -> None:
    """Nothing is decided then: the task fails, and runs again."""
    answers = respond("Avro with a registry")

    def failing(request: Received) -> Reply:
        return Reply(500) if request.path.startswith("/schemas/ids/77") else answers(request)

    with registry(failing) as fake:
        options = {"value.format": "avro", "schema.registry.url": fake.url}
        options |= {"schema.registry.max.retries": "0"}
        query = QueryFormats(parse_alone(options).formats, ["t"])
        nulls = query.nulls("value")
        assert nulls is not None
        assert query.nulls("key") is None
        with pytest.raises(RegistryError, match="schema id 77"):
            nulls.of(pa.array([id_of(77) + b"\0"], pa.binary()), None)


@pytest.mark.parametrize(
    "tombstone",
    [None, b"null", b" null ", wrapped(None), wrapped(None, schema=None)],
)
def test_tombstones_of_debezium_in_those_forms_are_left_out(tombstone: bytes | None) -> None:
    schema = connect_envelope({"id": "int64"})
    insert = wrapped(event("c", after={"id": 1}), schema=schema)
    options = {"value.format": "json", "value.schema": "id bigint"}
    given: list[Record] = [(None, insert), (None, tombstone), (None, insert)]
    for mode in ("FAILFAST", "PERMISSIVE"):
        rows = read({**options, "mode": mode}, given, columns=["id", "offset"])
        assert rows == [{"id": 1, "offset": 0}, {"id": 1, "offset": 2}]
