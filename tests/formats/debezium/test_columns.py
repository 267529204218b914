"""The columns of a read of changes: their names, and which a query may name."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.config_error import config_error
from tests.formats.debezium.events import (
    DDL,
    INSERT,
    JSON,
    KEY_1,
    SOURCE,
    dumped,
    event,
    query_with,
    read,
    rows_of,
    stages_with,
)


def test_a_part_of_the_columns() -> None:
    given = [INSERT, (KEY_1, dumped(event("c", after={"id": 1, "name": 5, "more": {}})))]
    assert read(DDL, given, columns=["offset", "id"]) == [
        {"offset": 0, "id": 1},
        {"offset": 1, "id": 1},
    ]
    types = {"source": pa.struct([("lsn", pa.int64())])}
    assert read(DDL, [INSERT], types=types, columns=["op", "source"]) == [
        {"op": "c", "source": {"lsn": SOURCE["lsn"]}}
    ]
    # Without columns of the table rows are not looked at.
    assert read(DDL, [(None, dumped(event("c")))], columns=["op"]) == [{"op": "c"}]


def test_names_of_the_table_and_of_changes() -> None:
    options = {**JSON, "value.schema": "id bigint, Op string, timestamp string, `key` int"}
    error = config_error(query_with(options).schema)
    assert error == (
        "The table has a column 'Op', and so has each change: set debezium.prefix, for example to "
        "__, which is put before the names of columns that are not the table's."
    )
    row = {"id": 1, "Op": "x", "timestamp": "y", "key": 5}
    given = [(dumped({"id": 1}), dumped(event("c", after=row)))]
    (found,) = read({**options, "debezium.prefix": "__"}, given)
    assert {name: found[name] for name in row} == row
    assert (found["__op"], found["__topic"], found["__offset"]) == ("c", "shop.public.items", 0)
    # Without the columns that have two meanings.
    assert read(options, given, columns=["id", "offset"]) == [{"id": 1, "offset": 0}]
    assert "has a column 'key'" in config_error(stages_with, options, None, ["id", "key"])
    fixed = {**JSON, "value.schema": "_unavailable string"}
    assert "without it, in .schema(...)" in config_error(query_with(fixed).schema)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([pa.field("x", pa.int64())], "There is no column 'x'; there are id, name, op, ts_ms"),
        ([pa.field("id", pa.int64(), nullable=False)], "Column 'id' and all of its parts must be"),
        ([pa.field("op", pa.int64())], "Column 'op' is string, not int64."),
        ([pa.field("id", pa.int64())] * 2, "Column 'id' is wanted twice"),
        ([pa.field("headers", pa.string())], "Column 'headers' needs the option includeHeaders"),
        (
            [pa.field("_unavailable", pa.list_(pa.field("element", pa.string())))],
            "Column '_unavailable' names columns of the table",
        ),
    ],
)
def test_columns_that_are_not_there(columns: list[pa.Field], message: str) -> None:
    assert message in config_error(query_with(DDL).stages, pa.schema(columns))


def test_the_columns_of_a_table_must_be_known() -> None:
    error = config_error(query_with(JSON).schema)
    assert "The columns of the table are not known: set value.schema to them" in error
    single = {**JSON, "value.schema": "bigint"}
    assert "must be the columns of the table" in config_error(query_with(single).schema)


def test_headers() -> None:
    query = query_with(DDL, has_headers=True)
    assert "headers" in query.schema().names
    (row,) = rows_of(query.stages(query.wanted(["id", "headers"], {})), [INSERT])
    assert row == {"id": 1, "headers": None}
