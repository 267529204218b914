"""A query decodes the columns and the fields that it wants, and no others."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pytest

from kafka_formats.errors import SchemaError
from tests.config_error import config_error
from tests.formats.suite.form import Form
from tests.formats.suite.forms import each_form, each_registered
from tests.formats.suite.places import GIVEN, PREFIX
from tests.formats.suite.reading import Query, columns_of
from tests.formats.suite.topics import ANN, ID, SECOND, WHO, topic

LINE: Final = pa.struct([pa.field("sku", pa.string()), pa.field("price", pa.float64())])
PRICE: Final = pa.struct([pa.field("price", pa.float64())])
WHOLE: Final = pa.struct(
    [
        ID,
        WHO,
        pa.field("first", LINE),
        pa.field("lines", pa.list_(pa.field("element", LINE, nullable=False)), nullable=False),
        pa.field(
            "by_name",
            pa.map_(pa.string(), pa.field("value", LINE, nullable=False)),
            nullable=False,
        ),
    ]
)
ROW: Final[dict[str, Any]] = {
    "id": 5,
    "who": "ann",
    "first": {"sku": "a", "price": 0.5},
    "lines": [{"sku": "b", "price": 1.5}, {"sku": "c", "price": 2.5}],
    "by_name": [("k", {"sku": "d", "price": 3.5})],
}


def lists_of(item: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", item))


def maps_of(value: pa.DataType) -> pa.DataType:
    return pa.map_(pa.string(), pa.field("value", value))


@each_form()
def test_only_wanted_columns_are_decoded_and_shipped(form: Form) -> None:
    with topic(form, GIVEN) as orders:
        query = orders.query(["offset"])
        assert "value" not in query.stages[0].source_columns
        broken = orders.framed(1, form.encode(SECOND, ANN)[:-1])
        assert query.read(broken) == [{"offset": 40}]


@each_registered
def test_without_decoded_columns_nobody_is_asked(form: Form) -> None:
    with topic(form) as orders:
        orders.query(["offset", "topic"])
        assert orders.fake.paths == []


@each_form()
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"who": pa.string()}, {"who": "ann"}),
        ({"who": pa.string(), "id": pa.int64()}, {"who": "ann", "id": 5}),
        ({"first": PRICE}, {"first": {"price": 0.5}}),
        ({"lines": lists_of(PRICE)}, {"lines": [{"price": 1.5}, {"price": 2.5}]}),
        ({"by_name": maps_of(PRICE)}, {"by_name": [("k", {"price": 3.5})]}),
    ],
    ids=" ".join,
)
def test_a_part_of_the_fields_in_the_wanted_order(
    form: Form, fields: dict[str, pa.DataType], expected: Any
) -> None:
    part = pa.struct(list(fields.items()))
    with topic(form, GIVEN, WHOLE) as orders:
        query = orders.query(["value"], types={"value": part})
        assert query.type == part
        values = [row["value"] for row in query.read(orders.value(1, ROW), orders.value(1, ROW))]
    assert values == [expected] * 2
    assert [*values[0]] == [*fields]


@each_form()
@pytest.mark.parametrize(
    ("field", "message"),
    [
        (pa.field("idd", pa.int64()), "there is no field 'idd'"),
        (pa.field("id", pa.int32()), "the field 'id' has the type int64, not int32"),
        (pa.field("who", pa.decimal128(38, 2)), "the field 'who' has the type string, not decimal"),
        (pa.field("who", pa.string(), nullable=False), "the field 'who' can be null"),
        (pa.field("first", pa.int64()), "the field 'first' has the type struct"),
        (pa.field("lines", PRICE), "the field 'lines' has the type list"),
        (pa.field("lines", lists_of(pa.struct({"no": pa.int32()}))), "no field 'lines[].no'"),
        (pa.field("by_name", maps_of(pa.struct({"no": pa.int32()}))), "no field 'by_name{}.no'"),
        (pa.field("by_name", pa.map_(pa.binary(), LINE)), "the field 'by_name' has the type map"),
    ],
    ids=lambda case: case.name if isinstance(case, pa.Field) else None,
)
def test_what_the_schema_does_not_have_is_refused(
    form: Form, field: pa.Field, message: str
) -> None:
    with topic(form, GIVEN, WHOLE) as orders:
        types = {"value": pa.struct([field])}
        error = config_error(Query, orders.options, ["value"], types)
    assert error.startswith("Column 'value' cannot be read as the option value.schema: ")
    assert message in error


@each_form(where=lambda form: form.tree)
def test_a_type_within_itself_is_read_as_deep_as_it_is_wanted(form: Form) -> None:
    leaf = pa.struct([ID, pa.field("next", pa.string())])
    row = {"id": 5, "next": {"id": 6, "next": None}}
    payload = form.encode(pa.struct([ID, pa.field("next", leaf)]), row)
    with topic(form, PREFIX, form.tree) as trees:
        with pytest.raises(SchemaError, match="contains itself"):
            columns_of(trees.options)
        only_id = pa.struct([pa.field("id", pa.int64())])
        two = pa.struct([*only_id, pa.field("next", only_id)])
        found = [
            trees.query(["value"], types={"value": part}).read(trees.framed(1, payload))
            for part in (only_id, two)
        ]
    assert found == [[{"value": {"id": 5}}], [{"value": {"id": 5, "next": {"id": 6}}}]]
