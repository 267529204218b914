"""Columns whose type has changed: what a read as one type makes of values that have another.

The events are those of the recorded matrix, with one column each. For each pair of types, events of
the first are read by the schema of the second, as if `ALTER TABLE` stood between them.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, NamedTuple

import fastavro
import pyarrow as pa

from kafka_formats.connect.semantics import Path, Semantics
from kafka_formats.debezium.query import DebeziumQuery
from kafka_formats.errors import ITEMS
from kafka_formats.json.connect_schema import connect_type
from tests.change_data.matrix import (
    ALTERED,
    ALTERED_ROWS,
    ARRAY,
    FIRST_EDGE,
    MODES,
    NULLS,
    STREAMED,
    columns,
)
from tests.fakes.registry import registry, subjects
from tests.formats.debezium.events import Record, dumped, query_with, table_of, wrapped
from tests.formats.debezium.matrix_cells import EXACT, NULL, OTHER, REFUSED, recorded, records_in
from tests.formats.debezium.matrix_values import meaning, meaning_of_text

COLUMN: Final = "col"
_PARTS: Final = ("before", "after")
_HEADER: Final = b"\0"
_ID_BYTES: Final = 4


class Value(NamedTuple):
    """A value of a column, in an event of its own.

    Attributes:
        kind: The column in `cells`.
        text: What the database says of it; None for NULL.
        record: The event.
    """

    kind: str
    text: Any
    record: Record


class PairCell(NamedTuple):
    """What became of a value of one type that was read as another one."""

    written: str
    read: str
    text: Any
    outcome: str
    found: Any


class Written(NamedTuple):
    """What a connector wrote of each column.

    Attributes:
        values: The values, whose schemas are alone those of their columns.
        schemas: By the name of a column, the schema of an envelope with only that.
        semantics: The semantic types in it.
    """

    values: list[Value]
    schemas: Mapping[str, Any]
    semantics: Mapping[str, Semantics]


def pairs_of(converter: str, mode: str) -> Iterator[PairCell]:
    """All pairs of types.

    Values that a read as their own type does not find exactly are left out: `matrix_table` has
    them. Of types that events do not tell apart, there is one.
    """
    written = _WRITTEN[converter](mode)
    own = {
        name: [
            *_cells(converter, mode, name, [each for each in written.values if each.kind == name])
        ]
        for name in written.schemas
    }
    values = [
        value
        for name, cells in own.items()
        for value, cell in zip(
            [each for each in written.values if each.kind == name], cells, strict=True
        )
        if cell.outcome == EXACT
    ]
    readable = {each.kind for each in values if each.text is not None}
    for name in written.schemas:
        if name in readable:
            yield from _cells(converter, mode, name, values)


def _cells(converter: str, mode: str, name: str, values: Sequence[Value]) -> Iterator[PairCell]:
    written = _WRITTEN[converter](mode)
    schemas = dict(enumerate(written.schemas.values(), start=1))
    reader = [*written.schemas].index(name) + 1
    with _OPTIONS[converter](schemas, reader) as options:
        query = query_with({"key.format": "raw", "mode": "PERMISSIVE", **options})
        rows = _rows(query, COLUMN, [each.record for each in values])
    for value, found in zip(values, rows, strict=True):
        semantics = {
            kind: _semantic(written.semantics[kind], COLUMN, kind) for kind in (value.kind, name)
        }
        yield _cell(value, name, found, COLUMN, semantics, mode)


def pairs_across(converter: str, first: str, then: str) -> Iterator[PairCell]:
    """Columns of a connector whose options have changed: what was written with the first mode."""
    written, read = _WRITTEN[converter](first), _WRITTEN[converter](then)
    for name in written.schemas.keys() & read.schemas.keys():
        values = [each for each in written.values if each.kind == name]
        number = [*written.schemas].index(name) + 1
        exact = [
            value
            for value, cell in zip(values, _cells(converter, first, name, values), strict=True)
            if cell.outcome == EXACT
        ]
        reader = len(written.schemas) + 1
        schemas = {number: written.schemas[name], reader: read.schemas[name]}
        with _OPTIONS[converter](schemas, reader) as options:
            query = query_with({"key.format": "raw", "mode": "PERMISSIVE", **options})
            rows = _rows(query, COLUMN, [each.record for each in exact])
        semantics = {name: _semantic(read.semantics[name], COLUMN, name)}
        for value, found in zip(exact, rows, strict=True):
            yield _cell(value, name, found, COLUMN, semantics, first)


def altered_of(converter: str, mode: str) -> Iterator[PairCell]:
    """The columns whose type was changed in the database, read by the schema before and after."""
    events = records_in(f"{converter}_{mode}.public.altered")
    assert len(events) == 2 * ALTERED_ROWS
    told = records_in(f"told_{mode}.public.altered")
    documents = [json.loads(told[place][1] or b"")["schema"] for place in (0, -1)]
    semantics = [connect_type(json.dumps(each)).semantics for each in documents]
    schemas: dict[int, Any] = dict(enumerate(documents))
    if converter == "avro":
        numbers = [_id_of(events[place][1] or b"") for place in (0, -1)]
        schemas = {each: json.loads(recorded()["schemas"][str(each)]) for each in numbers}
    texts = recorded()["texts"]["altered"]
    for place, reader in enumerate(schemas):
        with _OPTIONS[converter](schemas, reader) as options:
            query = query_with({"key.format": "raw", "mode": "PERMISSIVE", **options})
            for name, kinds in ALTERED.items():
                rows = _rows(query, name, events)
                meant = {
                    kind: _semantic(each, name, kind)
                    for kind, each in zip(kinds, semantics, strict=True)
                }
                for number, (event, found) in enumerate(zip(events, rows, strict=True)):
                    kind = kinds[number // ALTERED_ROWS]
                    value = Value(kind, texts[str(number + 1)][name], event)
                    yield _cell(value, kinds[place], found, name, meant, mode)


def _rows(query: DebeziumQuery, column: str, events: Sequence[Record]) -> list[Any]:
    """The values of a column, or the errors instead of them."""
    rows = table_of(query.stages(query.wanted([column, "_error"], {})), events)
    errors = rows["_error"].to_pylist()
    return [error or found for found, error in zip(rows[column], errors, strict=True)]


def _cell(
    value: Value,
    read: str,
    found: Any,
    column: str,
    semantics: Mapping[str, str | None],
    mode: str,
) -> PairCell:
    """What became of a value: `found` is that, or an error."""
    kinds = () if isinstance(found, str) else _judged_as(value.kind, read, found.type)
    if isinstance(found, str):
        # A refusal without the name of the column would not tell what to do.
        outcome = REFUSED if re.search(rf"field '?(after\.)?{column}\b", found) else found
    elif value.text is None or not found.is_valid:
        outcome = EXACT if value.text is None and not found.is_valid else NULL
    elif any(_is_meant(kind, value.text, found, semantics[kind], mode) for kind in kinds):
        outcome = EXACT
    else:
        outcome = OTHER
    return PairCell(value.kind, read, value.text, outcome, found)


def _judged_as(written: str, read: str, data_type: pa.DataType) -> tuple[str, ...]:
    """The types by which a value may be right: numbers and times have the meaning of the reader.

    Texts and bytes may also be those of the writer, as they were.
    """
    while pa.types.is_list(data_type):
        data_type = data_type.value_type
    has_unit = pa.types.is_integer(data_type) or pa.types.is_temporal(data_type)
    return (read,) if has_unit else (read, written)


def _semantic(semantics: Semantics, column: str, kind: str) -> str | None:
    path: Path = ("after", column)
    found = semantics.get((*path, ITEMS) if kind.endswith(ARRAY) else path)
    return found and found.name


def _is_meant(kind: str, text: Any, found: pa.Scalar, semantic: str | None, mode: str) -> bool:
    binary_mode = MODES[mode].get("binary.handling.mode", "bytes")
    is_array = kind.endswith(ARRAY)
    if is_array != isinstance(text, list) or is_array != pa.types.is_list(found.type):
        return False
    kind = kind.removesuffix(ARRAY)
    pairs = zip(text, found, strict=True) if is_array else [(text, found)]
    try:
        return all(
            meaning_of_text(kind, one) == meaning(kind, other, semantic, binary_mode)
            if one is not None and other.is_valid
            else one is None and not other.is_valid
            for one, other in pairs
        )
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # It is no value of this kind.
        return False


def _numbers() -> list[int]:
    """The rows that each connector can write, those after the snapshot."""
    return [
        int(number)
        for number in recorded()["texts"]["cells"]
        if STREAMED < int(number) < FIRST_EDGE
    ] + [NULLS + STREAMED]


def _distinct(fields: Mapping[str, Any]) -> list[str]:
    """A column of each type in events."""
    found: dict[str, str] = {}
    for name in columns():
        if name in fields:
            found.setdefault(json.dumps(fields[name], sort_keys=True), name)
    return [*found.values()]


@cache
def _documents(mode: str) -> Written:
    """JSON with schemas."""
    documents = [json.loads(value or b"") for _, value in records_in(f"told_{mode}.public.cells")]
    envelope = documents[-1]["schema"]
    parts = {each["field"]: each for each in envelope["fields"]}
    fields = {
        each["field"]: {key: value for key, value in each.items() if key != "field"}
        for each in parts["after"]["fields"]
    }

    def with_only(name: str) -> Any:
        part = {**parts["after"], "fields": [{**fields[name], "field": COLUMN}]}
        return {
            **envelope,
            "fields": [
                {**part, "field": each["field"]} if each["field"] in _PARTS else each
                for each in envelope["fields"]
            ],
        }

    schemas = {name: with_only(name) for name in _distinct(fields)}
    rows = {each["payload"]["after"]["id"]: each["payload"] for each in documents}
    values = [
        Value(name, text, (None, wrapped(schema, {**rows[number], "after": {COLUMN: value}})))
        for name, schema in schemas.items()
        for number, text, value in _values_in(rows, name)
    ]
    semantics = {name: connect_type(json.dumps(each)).semantics for name, each in schemas.items()}
    return Written(values, schemas, semantics)


def _values_in(rows: Mapping[int, Any], name: str) -> Iterator[tuple[int, Any, Any]]:
    texts = recorded()["texts"]["cells"]
    for number in _numbers():
        text = texts.get(str(number), {}).get(name)
        if text is not None or number == NULLS + STREAMED:
            yield number, text, rows[number]["after"][name]


@cache
def _avro(mode: str) -> Written:
    """Avro, whose values are written anew with schemas of one column."""
    topic = records_in(f"avro_{mode}.public.cells")
    schema_of = recorded()["schemas"]
    envelope = json.loads(schema_of[str(_id_of(topic[-1][1] or b""))])
    row = next(each["type"] for each in envelope["fields"] if each["name"] == "before")[1]
    definitions: dict[str, Any] = {}
    _define(row, definitions)
    fields = {each["name"]: each["type"] for each in row["fields"]}

    def with_only(name: str) -> Any:
        column = {"name": COLUMN, "type": _whole(fields[name], definitions, set()), "default": None}
        part = {**row, "fields": [column]}
        return {
            **envelope,
            "fields": [
                {**each, "type": ["null", part]} if each["name"] == "before" else each
                for each in envelope["fields"]
            ],
        }

    rows: dict[int, Any] = {}
    for _, value in topic:
        payload = value or b""
        schema = _parsed(json.loads(schema_of[str(_id_of(payload))]))
        event: Any = fastavro.schemaless_reader(io.BytesIO(payload[1 + _ID_BYTES :]), schema, None)
        rows[event["after"]["id"]] = event
    schemas = {name: with_only(name) for name in _distinct(fields)}
    values = []
    for number, (name, schema) in enumerate(schemas.items(), start=1):
        parsed = _parsed(schema)
        for place, text, value in _values_in(rows, name):
            target = io.BytesIO()
            event = {**rows[place], "after": {COLUMN: value}, "before": None}
            fastavro.schemaless_writer(target, parsed, event)
            payload = _HEADER + number.to_bytes(_ID_BYTES, "big") + target.getvalue()
            values.append(Value(name, text, (None, payload)))
    # Both converters keep the names of Connect's types, which the documents have too.
    return Written(values, schemas, {name: _documents(mode).semantics[name] for name in schemas})


def _id_of(payload: bytes) -> int:
    return int.from_bytes(payload[1 : 1 + _ID_BYTES], "big")


def _parsed(schema: Any) -> Any:
    """Without logical types: values stay the numbers and bytes that they are."""
    return fastavro.parse_schema(
        json.loads(json.dumps(schema), object_hook=lambda each: _without(each, "logicalType"))
    )


def _without(node: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: each for name, each in node.items() if name != key}


def _define(node: Any, definitions: dict[str, Any]) -> None:
    """Note the records of a schema by their full names."""
    if isinstance(node, list):
        for each in node:
            _define(each, definitions)
    elif isinstance(node, dict):
        if node.get("type") == "record" and "namespace" in node:
            definitions[f"{node['namespace']}.{node['name']}"] = node
        for each in node.values():
            _define(each, definitions)


def _whole(node: Any, definitions: Mapping[str, Any], known: set[str]) -> Any:
    """A type with the records that it names, each where it is first named."""
    if isinstance(node, list):
        return [_whole(each, definitions, known) for each in node]
    if isinstance(node, str) and node in definitions and node not in known:
        known.add(node)
        return definitions[node]
    if isinstance(node, dict) and "items" in node:
        return {**node, "items": _whole(node["items"], definitions, known)}
    return node


@contextmanager
def _document_schema(schemas: Mapping[int, Any], reader: int) -> Iterator[dict[str, str]]:
    yield {"value.format": "json", "value.schema": dumped(schemas[reader]).decode()}


@contextmanager
def _subject(schemas: Mapping[int, Any], reader: int) -> Iterator[dict[str, str]]:
    """All schemas are versions of one subject, of which the newest is the reader's."""
    versions = [
        {"id": number, "schema": json.dumps(schemas[number])}
        for number in sorted(schemas, key=lambda each: each == reader)
    ]
    with registry(subjects(**{"shop.public.items-value": versions})) as fake:
        yield {"value.format": "avro", "schema.registry.url": fake.url}


_WRITTEN: Final = {"told": _documents, "avro": _avro}
_OPTIONS: Final = {"told": _document_schema, "avro": _subject}
