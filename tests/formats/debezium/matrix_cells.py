"""The cells of the recorded matrix: what a read makes of each value that a real Debezium wrote."""

from __future__ import annotations

import base64
import json
import lzma
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kafka_formats.connect.semantics import ConnectType
from kafka_formats.errors import ITEMS
from kafka_formats.json.connect_schema import connect_type
from tests.change_data.matrix import (
    ARRAY,
    CHANGED,
    FIRST_EDGE,
    KINDS,
    MODES,
    STREAMED,
    cells,
    columns,
    edges,
    large,
    required,
)
from tests.fakes.registry import registry, subjects
from tests.formats.debezium.events import Record, query_with, table_of
from tests.formats.debezium.matrix_values import meaning, meaning_of_text

FILE: Final = Path(__file__).with_name("recorded_matrix.json.xz")
EXACT, REFUSED, OTHER, NULL, NO_COLUMN, NO_EVENT = (
    "exact",
    "refused",
    "another value",
    "null",
    "no column",
    "no event",
)
UNCHANGED: Final = "unchanged TOAST"
"""The text of a large value that an update leaves as it is: exact is to name the column."""
_VARIABLE: Final = "io.debezium.data.VariableScaleDecimal"
_PARTS: Final = pa.struct({"scale": pa.int32(), "value": pa.binary()})


class Cell(NamedTuple):
    """A value, and what became of it.

    Attributes:
        converter: A name in `CONVERTERS`.
        mode: A name in `MODES`.
        column: Its column.
        text: What the database says: None for NULL, a list for an array.
        outcome: One of the names above.
        found: The value that was read, or the error.
        place: The table and the number of the row.
    """

    converter: str
    mode: str
    column: str
    text: Any
    outcome: str
    found: Any
    place: str

    @property
    def when(self) -> str:
        """`snapshot`, or `stream` for what was written after it."""
        number = int(self.place.split()[-1]) if " " in self.place else CHANGED
        is_first = number < STREAMED or FIRST_EDGE <= number < FIRST_EDGE + STREAMED
        return "snapshot" if is_first else "stream"


@cache
def recorded() -> Any:
    """The file."""
    return json.loads(lzma.decompress(FILE.read_bytes()))


@cache
def records_in(topic: str) -> list[Record]:
    """The records of a topic."""
    given = recorded()["topics"][topic]

    def payload(part: Any) -> bytes | None:
        if isinstance(part, list):
            number, rest = part
            return f'{given["schemas"][number]},"payload":{rest}'.encode()
        return None if part is None else base64.b64decode(part)

    return [(payload(key), payload(value)) for key, value in given["records"]]


@cache
def _type_of(table: str, mode: str) -> ConnectType:
    """What documents with schemas tell of a table's events."""
    _, value = records_in(f"told_{mode}.public.{table}")[-1]
    return connect_type(json.dumps(json.loads(value or b"")["schema"]))


@contextmanager
def _options(converter: str, mode: str, table: str) -> Iterator[dict[str, str]]:
    given = {"key.format": "raw", "mode": "PERMISSIVE"}
    topic = f"{converter}_{mode}.public.{table}"
    value = records_in(topic)[-1][1] or b""
    if converter == "told":
        schema = json.dumps(json.loads(value)["schema"])
        yield {**given, "value.format": "json", "value.schema": schema}
    elif converter == "plain":
        precision = MODES[mode].get("time.precision.mode", "adaptive")
        yield {**given, "value.format": "json", "debezium.time.precision.mode": precision}
    else:
        number = int.from_bytes(value[1:5], "big")
        version = {"id": number, "schema": recorded()["schemas"][str(number)]}
        # The first part is the subject of the topic that `query_with` reads.
        with registry(subjects(**{"shop.public.items-value": [version]})) as fake:
            yield {**given, "value.format": "avro", "schema.registry.url": fake.url}


def _plain_types(told: pa.Schema, given: ConnectType, mode: str) -> dict[str, pa.DataType]:
    """The types to name where no schema tells any."""
    has_unit = MODES[mode].get("time.precision.mode", "adaptive")[:8] != "adaptive"

    def plain(data_type: pa.DataType, path: tuple[str, ...]) -> pa.DataType:
        if pa.types.is_list(data_type):
            return pa.list_(pa.field("element", plain(data_type.value_type, (*path, ITEMS))))
        semantic = given.semantics.get(path)
        if semantic is not None and semantic.name == _VARIABLE:
            return _PARTS
        if path == ("after", "money") and data_type == pa.string():
            return pa.decimal128(19, 2) if semantic is not None else data_type
        if data_type == pa.timestamp("us") and not has_unit:
            return pa.int64()
        return data_type

    return {
        name: plain(told.field(name).type, ("after", name))
        for name in told.names
        if name in columns() or name == "id"
    }


def _decoded(
    converter: str, mode: str, table: str
) -> Iterator[tuple[dict[str, Any], Sequence[str]]]:
    """Each row: its values, or the errors instead of them; and what is not available."""
    given = _type_of(table, mode)
    with _options("told", mode, table) as options:
        told = query_with(options).schema()
    own = [name for name in told.names if name in columns() or name == "id"]
    types = _plain_types(told, given, mode) if converter == "plain" else {}
    events = records_in(f"{converter}_{mode}.public.{table}")
    with _options(converter, mode, table) as options:
        query = query_with(options)

        def rows(names: Sequence[str], of: Sequence[Record]) -> pa.Table:
            wanted = [*names, "_unavailable", "_error"]
            picked = {name: types[name] for name in names if name in types}
            return table_of(query.stages(query.wanted(wanted, picked)), of)

        yield from _read(rows, own, events)


def _read(
    rows: Callable[[Sequence[str], Sequence[Record]], pa.Table],
    own: Sequence[str],
    events: Sequence[Record],
) -> Iterator[tuple[dict[str, Any], Sequence[str]]]:
    """Read columns together, and those alone that an error names."""
    refused: list[str] = []
    while True:
        names = [each for each in own if each not in refused]
        whole = rows(names, events)
        errors = {each for each in whole["_error"].to_pylist() if each is not None}
        if not errors:
            break
        found = {_column_in(each, names) for each in errors}
        refused += sorted(found)
    alone = {name: rows([name], events) for name in refused}
    for place in range(len(events)):
        values = {name: whole[name][place] for name in names}
        for name, table in alone.items():
            error = table["_error"][place].as_py()
            values[name] = table[name][place] if error is None else str(error)
        missing = {
            name
            for table in (whole, *alone.values())
            for name in table["_unavailable"][place].as_py() or []
        }
        yield values, sorted(missing)


def _column_in(error: str, names: Sequence[str]) -> str:
    """The column that an error names: a refusal without a name would not tell what to do."""
    found = [name for name in names if re.search(rf"field (after\.)?{name}\b", error)]
    assert found, error
    return max(found, key=len)


def _outcome(column: str, text: Any, found: Any, given: ConnectType, mode: str) -> tuple[str, Any]:
    if found is None:
        return NO_COLUMN, None
    if isinstance(found, str):
        return REFUSED, found
    if text is None or not found.is_valid:
        return (EXACT if text is None and not found.is_valid else NULL), None
    kind = column.removesuffix(ARRAY)
    binary_mode = MODES[mode].get("binary.handling.mode", "bytes")
    path: tuple[str, ...] = ("after", column)
    if kind == column:
        semantic = given.semantics.get(path)
        told = meaning_of_text(kind, text)
        is_same = told == meaning(kind, found, semantic and semantic.name, binary_mode)
    else:
        semantic = given.semantics.get((*path, ITEMS))
        told = [None if each is None else meaning_of_text(kind, each) for each in text]
        is_same = told == [
            meaning(kind, each, semantic and semantic.name, binary_mode) if each.is_valid else None
            for each in (found if pa.types.is_list(found.type) else [])
        ]
    return (EXACT if is_same else OTHER), found


def _numbers(table: str) -> list[int]:
    """The numbers of the rows: of the snapshot, and those that follow it."""
    if table == "kept":
        return [CHANGED]
    rows = [*cells(), *edges()] if table == "cells" else required()
    return [each.number + shift for each in rows for shift in (0, STREAMED)]


def cells_of(converter: str, mode: str) -> Iterator[Cell]:
    """All cells of a connector."""
    kept = [*large().values]
    for table, names in (("cells", [*columns()]), ("required", [*KINDS]), ("kept", kept)):
        yield from _cells_in(converter, mode, table, names)
    for table in ("large", "large_required"):
        ((found, unavailable),) = [
            each for each in _decoded(converter, mode, table) if each[0]["id"].as_py() == CHANGED
        ]
        for name in large(table).values:
            outcome = _outcome_of_large(found.get(name), name in unavailable)
            yield Cell(converter, mode, name, UNCHANGED, outcome, found.get(name), table)


def _cells_in(converter: str, mode: str, table: str, names: Sequence[str]) -> Iterator[Cell]:
    given = _type_of(table, mode)
    texts: Mapping[str, Mapping[str, Any]] = recorded()["texts"][table]
    rows = {found["id"].as_py(): found for found, _ in _decoded(converter, mode, table)}
    for number in _numbers(table):
        row = texts.get(str(number), {})
        # The rows of one value are about no other column.
        for name in names if number < FIRST_EDGE else row:
            text = row.get(name)
            outcome: tuple[str, Any] = (NO_EVENT, None)
            if number in rows:
                outcome = _outcome(name, text, rows[number].get(name), given, mode)
            yield Cell(converter, mode, name, text, *outcome, f"{table} {number}")


def _outcome_of_large(found: Any, is_told: bool) -> str:
    if found is None:
        return NO_COLUMN
    if found.is_valid:
        return OTHER
    return EXACT if is_told else NULL
