"""Fields of a newer schema whose values the columns of a query cannot hold.

`tests/formats/query/test_evolution_matrix.py` has all pairs of types, with their values.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.formats.suite.of_protobuf import PROTOBUF
from tests.formats.suite.places import PREFIX
from tests.formats.suite.test_evolution import INCOMPATIBLE, RESTART, stops_at
from tests.formats.suite.topics import PERMISSIVE, topic

IMPORTS = 'import "confluent/meta.proto"; import "confluent/type/decimal.proto";'
DECIMAL = """confluent.type.Decimal x = 1 [
    (confluent.field_meta).params = { key: "precision" value: "%d" },
    (confluent.field_meta).params = { key: "scale" value: "2" }];"""


def message(fields: str) -> str:
    return f'syntax = "proto3"; {IMPORTS} message Order {{ {fields} }}'


@pytest.mark.parametrize(
    ("read_as", "written", "reason"),
    [
        ("int32 x = 1;", "int64 x = 1;", "value.x has the type bigint, not int"),
        ("int32 x = 1;", "sint32 x = 1;", "value.x has another type of Protobuf"),
        ("int32 x = 1;", "optional int32 x = 1;", "value.x may be absent, and would be read as"),
        ("optional int32 x = 1;", "int32 x = 1;", "value.x is not written if it is its default"),
        ("int32 x = 1;", "repeated int32 x = 1;", "value.x is repeated, not one value"),
        ("int32 x = 1;", "int32 x = 2;", "value.x has the number 2, not 1"),
        ("int32 x = 1; int32 y = 2;", "int32 x = 2; int32 y = 1;", "value.x has the number 2"),
        ("E x = 1; enum E { A = 0; }", "E x = 1; enum E { A = 0; B = 1; }", "new symbol B"),
        (
            "E x = 1; enum E { A = 0; }",
            "E x = 1; enum E { B = 0; }",
            "value.x has the new symbol B",
        ),
        (
            "oneof o { int32 x = 1; int32 y = 2; }",
            "optional int32 x = 1; optional int32 y = 2;",
            "value.x may be there beside other fields of its oneof",
        ),
        ("map<string, int32> x = 1;", "map<string, int64> x = 1;", "value.x{} has the type bigint"),
        (
            "oneof o { int32 x = 1; int32 y = 2; }",
            "int32 x = 1; int32 y = 2;",
            "value.x is not wri",
        ),
    ],
)
def test_values_that_the_columns_cannot_hold(read_as: str, written: str, reason: str) -> None:
    with topic(PROTOBUF, PREFIX, message(read_as)) as orders:
        query = orders.query(more={**RESTART, **PERMISSIVE})
        orders.add(message(written))
        found = stops_at(query, orders.framed(2, b""))
    assert f"{INCOMPATIBLE} " in found
    assert reason in found


def test_a_wider_decimal() -> None:
    wanted = pa.struct([("x", pa.decimal128(4, 2))])
    with topic(PROTOBUF, PREFIX, message(DECIMAL % 4)) as orders:
        query = orders.query(more=RESTART, types={"value": wanted})
        orders.add(message(DECIMAL % 12))
        found = stops_at(query, orders.framed(2, b""))
    assert "value.x is decimal(12, 2), not decimal(4, 2)" in found
