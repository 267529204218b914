"""A wanted type against that of a schema, in one step."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kafka_formats.arrow.type_match import (
    check_type,
    refuse_not_null,
    wanted_fields,
    wrong_type,
)
from kafka_formats.errors import SchemaError

KNOWN = {"id": 1, "who": 2}
PRICE = pa.struct([pa.field("price", pa.int64(), nullable=False)])


def test_fields_come_in_the_wanted_order_with_their_paths() -> None:
    wanted = pa.struct([("who", pa.string()), ("id", pa.int64())])
    found = [(field.name, known, path) for field, known, path in wanted_fields(KNOWN, wanted, "a")]
    assert found == [("who", 2, "a.who"), ("id", 1, "a.id")]


def test_a_field_that_the_schema_lacks_is_named_with_those_that_it_has() -> None:
    with pytest.raises(SchemaError, match=r"^there is no field 'a\[\]\.x'; there are id, who$"):
        list(wanted_fields(KNOWN, pa.struct([("x", pa.int64())]), "a[]"))


def test_what_can_be_null_is_not_wanted_as_not_null() -> None:
    refuse_not_null("a", nullable=True)
    with pytest.raises(SchemaError, match=r"^the field 'a' can be null: leave NOT NULL out"):
        refuse_not_null("a", nullable=False)
    with pytest.raises(SchemaError, match=r"^the payload can be null: "):
        refuse_not_null("", nullable=False)


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        (pa.int64(), pa.int64()),
        (PRICE, pa.struct([("price", pa.int64())])),
        (pa.list_(pa.field("item", pa.int64())), pa.list_(pa.field("element", pa.int64()))),
        (pa.map_(pa.string(), PRICE), pa.map_(pa.string(), pa.struct([("price", pa.int64())]))),
    ],
)
def test_the_same_type_may_be_nullable_and_name_its_parts_as_it_likes(
    known: pa.DataType, wanted: pa.DataType
) -> None:
    check_type(known, wanted, "")


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        (pa.int64(), pa.int32()),
        (pa.struct([("price", pa.int64())]), PRICE),
        (PRICE, pa.struct([("cost", pa.int64())])),
        (PRICE, pa.struct([])),
        (pa.list_(pa.int64()), pa.list_(pa.field("element", pa.int64(), nullable=False))),
        (pa.map_(pa.string(), pa.int64()), pa.map_(pa.binary(), pa.int64())),
        (pa.list_(pa.int64()), pa.int64()),
    ],
)
def test_another_type_is_refused_with_both(known: pa.DataType, wanted: pa.DataType) -> None:
    with pytest.raises(SchemaError) as caught:
        check_type(known, wanted, "lines[]")
    assert str(caught.value) == f"the field 'lines[]' has the type {known}, not {wanted}"
    assert str(wrong_type("list", pa.int64(), "")) == "the payload has the type list, not int64"
