"""Values of each type are read as others write them, and written as others read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arrow_owners import borrowed_bytes
from tests.formats.suite.form import Form
from tests.formats.suite.forms import FORMS, each_form
from tests.formats.suite.kinds import KINDS, Kind
from tests.formats.suite.places import GIVEN, PREFIX, Place
from tests.formats.suite.reading import NULL, Query, Row, Value, records
from tests.formats.suite.topics import PERMISSIVE, each_place, topic
from tests.formats.times import as_numbers

ROWS: Final = 5_000
each_type = pytest.mark.parametrize(
    ("form", "name"),
    [
        pytest.param(form, name, id=f"{form}, {name}")
        for form in FORMS
        for name in sorted(form.types)
    ],
)


def nested(form: Form, kind: pa.DataType) -> pa.StructType:
    """Columns with a type in each place that it can have."""
    item = pa.field("element", kind, nullable=form.has_null_items)
    value = pa.field("value", kind, nullable=form.has_null_items)
    inner = pa.struct([pa.field("x", kind), pa.field("xs", pa.list_(item), nullable=False)])
    return pa.struct(
        [
            pa.field("must", kind, nullable=False),
            pa.field("may", kind),
            pa.field("list", pa.list_(item), nullable=False),
            pa.field("map", pa.map_(pa.string(), value), nullable=False),
            pa.field("one", inner),
            pa.field("many", pa.list_(pa.field("element", inner, nullable=False)), nullable=False),
        ]
    )


def rows_of(form: Form, values: tuple[Any, ...]) -> Iterator[Row]:
    """A row with each value, one with nulls, and one with all."""
    nulls = [None] * form.has_null_items
    for each in values:
        inner = {"x": each, "xs": [each]}
        whole = {"must": each, "may": each, "list": [each], "map": [("k", each)]}
        yield {**whole, "one": inner, "many": [inner, inner]}
    few = {"must": values[0], "may": None, "list": [*values, *nulls], "map": [("", values[-1])]}
    yield {**few, "one": None, "many": [{"x": None, "xs": []}]}


@each_type
def test_a_type_is_read_as_others_write_it(form: Form, name: str) -> None:
    kind = KINDS[name]
    columns = nested(form, kind.type)
    rows = [*rows_of(form, kind.values)]
    with topic(form, GIVEN, columns) as orders:
        query = orders.query(["value"])
        assert query.type == form.read_as(columns)
        values = [orders.value(1, each) for each in rows]
        # Decoders may read many at once.
        for times in (1, 20):
            assert [row["value"] for row in query.read(*values * times)] == rows * times


@each_type
def test_a_type_is_written_as_others_read_it(form: Form, name: str) -> None:
    kind = KINDS[name]
    columns = nested(form, kind.type)
    rows = [*rows_of(form, kind.values)]
    with topic(form, GIVEN, columns) as orders:
        # A slice has offsets, also those of lists.
        payloads = orders.write(pa.array([rows[-1], *rows, rows[0]], columns).slice(1, len(rows)))
        found = orders.query(["value"]).read(*map(Value, payloads))
    for payload, row in zip(payloads, rows, strict=True):
        assert payload is not None
        assert form.parse(columns, payload) == form.parse(columns, form.encode(columns, row))
    assert [row["value"] for row in found] == rows


@st.composite
def columns_and_rows(draw: st.DrawFn, form: Form) -> tuple[pa.StructType, list[Row]]:
    """Some columns of a format, and rows."""
    names = st.sampled_from(sorted(form.types))
    drawn = [draw(typed(form, KINDS[each])) for each in draw(st.lists(names, min_size=1))]
    columns = pa.struct([(f"c{at}", to) for at, (to, _) in enumerate(drawn)])
    fields = {f"c{at}": may_be_null(form, *each) for at, each in enumerate(drawn)}
    return columns, draw(st.lists(st.fixed_dictionaries(fields), min_size=1, max_size=5))


@st.composite
def typed(
    draw: st.DrawFn, form: Form, kind: Kind, depth: int = 2
) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    """A type, in lists, maps and structs; and values of it."""
    around = draw(st.sampled_from(["nothing", "list", "map", "struct"])) if depth else "nothing"
    if around == "nothing":
        return kind.type, st.sampled_from(kind.values) | kind.random
    inner, values = draw(typed(form, kind, depth - 1))
    if around == "struct" or (is_repeated(inner) and not form.has_lists_in_lists):
        fields = {"x": may_be_null(form, inner, values)}
        return pa.struct([("x", inner)]), st.fixed_dictionaries(fields)
    items = st.none() | values if form.has_null_items else values
    item = pa.field("element", inner, nullable=form.has_null_items)
    if around == "list":
        return pa.list_(item), st.lists(items, max_size=4)
    entries = st.dictionaries(st.text(max_size=2), items, max_size=3)
    return pa.map_(pa.string(), item), entries.map(lambda each: list(each.items()))


def is_repeated(to: pa.DataType) -> bool:
    return isinstance(to, (pa.ListType, pa.MapType))


def may_be_null(
    form: Form, to: pa.DataType, values: st.SearchStrategy[Any]
) -> st.SearchStrategy[Any]:
    """Values of a field: a list is never null where its items are not."""
    return values if is_repeated(to) and not form.has_null_items else st.none() | values


DAMAGE: Final = st.tuples(
    st.sampled_from(["flip", "cut", "set", "add"]), st.integers(0), st.integers(0)
)


def damaged(payload: bytes, how: str, place: int, value: int) -> bytes:
    at = place % (len(payload) + 1)
    if how == "cut" or at == len(payload):
        return payload[:at]
    byte = payload[at] ^ (1 << value % 8) if how == "flip" else value % 256
    return payload[:at] + bytes([byte]) + payload[at + (how != "add") :]


def read(query: Query, payloads: list[bytes]) -> list[tuple[Any, str | None]]:
    """The value of each payload, and why it is broken."""
    (found,) = query.decode(records([*map(Value, payloads)]))
    # Damaged dates need not be ones of Python.
    values = in_order(as_numbers(found["value"]))
    return list(zip(values, found["_error"].to_pylist(), strict=True))


def in_order(value: Any) -> Any:
    """Maps of Protobuf have no order."""
    if isinstance(value, dict):
        return {name: in_order(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return tuple(map(in_order, value))
    if isinstance(value, list):
        found = [*map(in_order, value)]
        return sorted(found, key=repr) if found and isinstance(found[0], tuple) else found
    return value


@pytest.mark.no_cover
@pytest.mark.many_inputs
@each_form()
@given(data=st.data())
def test_fault_61_many_payloads_are_read_as_each_by_itself(form: Form, data: st.DataObject) -> None:
    columns, rows = data.draw(columns_and_rows(form))
    query = Query(
        {"value.format": form.format, "value.schema": form.schema(columns), **PERMISSIVE},
        ["value", "_error"],
    )
    payloads = [form.encode(columns, row) for row in rows]
    assert [in_order(row["value"]) for row in query.read(*map(Value, payloads))] == in_order(rows)
    payloads += [damaged(each, *data.draw(DAMAGE)) for each in payloads]
    alone = [read(query, [each])[0] for each in payloads]
    times = data.draw(st.sampled_from([1, 20]))
    # Not `==`: NaN is none.
    assert repr(read(query, payloads * times)) == repr(alone * times)


@each_place(GIVEN, PREFIX)
@pytest.mark.parametrize("count", [4, 40])
def test_a_slice_of_records(form: Form, place: Place, count: int) -> None:
    rows = [{"id": each, "who": None} for each in range(count)]
    with topic(form, place) as orders:
        query = orders.query(["value"])
        batch = records([*(orders.value(1, each) for each in rows), NULL]).slice(2)
        (found,) = query.decode(batch)
    assert found["value"].to_pylist() == [*rows[2:], None]


@pytest.mark.many_inputs
@each_form()
@pytest.mark.parametrize("with_null", [False, True])
def test_arrow_owns_decoded_values(form: Form, with_null: bool) -> None:
    """No thread needs Python to drop them (docs/upstream)."""
    fields: list[pa.Field] = []
    row: dict[str, Any] = {}
    for at, kind in enumerate(KINDS[name] for name in form.types):
        fields += [each.with_name(f"{each.name}{at}") for each in nested(form, kind.type)][1:4]
        first = next(rows_of(form, kind.values))
        row |= {f"{name}{at}": first[name] for name in ("may", "list", "map")}
    with topic(form, GIVEN, pa.struct(fields)) as orders:
        query = orders.query(["value"])
        values = [orders.value(1, row)] * ROWS + [NULL] * with_null
        batch = records(values)
        assert borrowed_bytes(lambda: next(query.decode(batch))) == 0
