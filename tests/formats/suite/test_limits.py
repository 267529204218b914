"""Deep, wide and long values: read as others in bounded memory, or refused with a reason."""

from __future__ import annotations

import tracemalloc
from typing import Any, Final, cast

import pyarrow as pa
import pytest

from kafka_protocol.errors import KafkaError
from tests.formats.suite.form import Form
from tests.formats.suite.forms import each_form
from tests.formats.suite.places import GIVEN
from tests.formats.suite.reading import Row, columns_of, records
from tests.formats.suite.topics import PERMISSIVE, topic

MEGABYTE: Final = 1 << 20


def nested(kind: str, depth: int) -> tuple[pa.StructType, Row]:
    """An int in a struct or a list of another, and so on; and a value of it."""
    to, value = pa.int32(), cast("Any", 5)
    for _ in range(depth - 1):
        to = pa.struct([("a", to)]) if kind == "struct" else pa.list_(pa.field("element", to))
        value = {"a": value} if kind == "struct" else [value]
    return pa.struct([("a", to)]), {"a": value}


def check(form: Form, kind: str, depth: int) -> None:
    """It is read and written, and broken alone."""
    columns, row = nested(kind, depth)
    with topic(form, GIVEN, columns) as orders:
        (payload,) = orders.write(pa.array([row], columns))
        query = orders.query(["value"], PERMISSIVE)
        cut = orders.framed(1, form.encode(columns, row)[:-1])
        rows = query.read(orders.value(1, row), cut, orders.framed(1, payload or b""))
    assert [each["value"] for each in rows] == [row, None, row]


@each_form()
@pytest.mark.parametrize("depth", [2, 45])
def test_structs_as_deep_as_arrow_takes_them(form: Form, depth: int) -> None:
    check(form, "struct", depth)


@each_form(where=lambda form: form.has_lists_in_lists)
def test_lists_as_deep_as_arrow_takes_them(form: Form) -> None:
    check(form, "list", 45)


@each_form()
def test_a_schema_that_is_too_deep_is_refused(form: Form) -> None:
    columns, _ = nested("struct", 150)
    with topic(form, GIVEN, columns) as orders:
        with pytest.raises(KafkaError, match=r"than 100|nested|deep"):
            columns_of(orders.options)


@each_form()
def test_a_wide_record(form: Form) -> None:
    columns = pa.struct([(f"f{at}", pa.int32()) for at in range(100)])
    row = {each.name: at for at, each in enumerate(columns)}
    with topic(form, GIVEN, columns) as orders:
        assert orders.query(["value"]).read(orders.value(1, row)) == [{"value": row}]


PAIR: Final = pa.struct([("x", pa.bool_()), ("y", pa.string())])
LONG: Final[dict[str, tuple[pa.DataType, Any]]] = {
    "text": (pa.string(), "é" * MEGABYTE),
    "bytes": (pa.binary(), b"\0" * MEGABYTE),
    "list": (pa.list_(pa.field("element", pa.int64(), nullable=False)), [7] * 50_000),
    "structs": (
        pa.list_(pa.field("element", PAIR, nullable=False)),
        [{"x": True, "y": ""}] * 20_000,
    ),
}


@pytest.mark.no_cover
@each_form()
@pytest.mark.parametrize("name", LONG)
def test_long_values_are_read_in_bounded_memory(form: Form, name: str) -> None:
    kind, value = LONG[name]
    columns = pa.struct([pa.field("long", kind, nullable=name in {"text", "bytes"})])
    with topic(form, GIVEN, columns) as orders:
        given = orders.value(1, {"long": value})
        query, batch = orders.query(["value"]), records([given] * 3)
        tracemalloc.start()
        try:
            (rows,) = query.decode(batch)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert rows["value"][2].as_py() == {"long": value}
    # Values as objects of Python would have twice as much.
    assert peak < max(10 * MEGABYTE, 100 * len(given.payload or b""))
