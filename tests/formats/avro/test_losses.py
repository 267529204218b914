"""Types of a newer schema whose values the columns of a query cannot hold, and types that fit.

`tests/formats/query/test_evolution_matrix.py` has all pairs of types, with their values.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.formats.suite.of_avro import AVRO
from tests.formats.suite.places import PREFIX
from tests.formats.suite.reading import NULL
from tests.formats.suite.test_evolution import INCOMPATIBLE, RESTART, stops_at
from tests.formats.suite.topics import topic

Json = Any


def field(kind: Json) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": [{"name": "x", "type": kind}]})


def decimal(precision: int, scale: int = 2) -> Json:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def enum(*symbols: str, **more: str) -> Json:
    return {"type": "enum", "name": "Color", "symbols": symbols, **more}


ITEM = {"type": "record", "name": "Item", "fields": [{"name": "sku", "type": "string"}]}
MILLIS, MICROS = (
    {"type": "long", "logicalType": f"timestamp-{unit}"} for unit in ("millis", "micros")
)
LISTED = {"type": "array", "items": ["null", "int"]}
WRITTEN_X: Sequence[tuple[Json, Json, str]] = [
    (enum("RED"), enum("RED", "GREEN"), "value.x has the new symbol GREEN"),
    # The default would stand for both.
    (enum("RED", default="RED"), enum("A", "RED", "B"), "value.x has the new symbols A, B"),
    (decimal(4), decimal(12), "value.x is decimal(12, 2), not decimal(4, 2)"),
    (decimal(12), decimal(12, 3), "value.x is decimal(12, 3), not decimal(12, 2)"),
    ("int", ["null", "int"], "value.x may be null"),
    (["null", "string"], ["null", "string", "int"], "value.x may be int, which its union did"),
    ("double", "long", "value.x has the type bigint, not double"),
    ("float", "int", "value.x has the type int, not float"),
    ("string", "bytes", "value.x has the type binary, not string"),
    ("int", "long", "value.x has the type bigint, not int"),
    ("int", {"type": "int", "logicalType": "date"}, "value.x has the type date, not int"),
    (["int", MICROS], ["int", MILLIS], "value.x cannot be read: the field 'x': timestamp-"),
    ({"type": "array", "items": "int"}, LISTED, "value.x[] may be null"),
    ({"type": "map", "values": enum("A")}, {"type": "map", "values": enum("B")}, "value.x{} has"),
    (
        ["null", ITEM],
        ["null", ITEM | {"name": "Other"}],
        "value.x may be Other, which its union did not have",
    ),
]


@pytest.mark.parametrize(("read_as", "written", "reason"), WRITTEN_X)
@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE", "DROPMALFORMED"])
def test_values_that_the_columns_cannot_hold(
    read_as: Json, written: Json, reason: str, mode: str
) -> None:
    """Whatever the payload is, and whatever the mode does with broken ones."""
    restart = {**RESTART, "mode": mode}
    with topic(AVRO, PREFIX, field(read_as)) as orders:
        query = orders.query(more=restart)
        orders.add(field(written))
        message = stops_at(query, orders.framed(2, b"\x02"))
        assert message.startswith(f"{INCOMPATIBLE} The value of orders-3 at offset 40 has version")
        assert f"cannot be read into the query's columns: {reason}" in message
        # Started again, the query reads as the new version: nothing stops it.
        assert len(orders.query(more=restart).read(NULL)) == 1


@pytest.mark.parametrize(
    ("read_as", "written"),
    [
        ("long", "int"),
        ("double", "int"),
        ("double", "float"),
        ("bytes", "string"),
        (["null", "int"], "int"),
        (enum("RED", "GREEN"), enum("GREEN")),
        (decimal(12, 3), decimal(4)),
        (["null", "string", "int"], ["int", "null"]),
    ],
)
def test_values_that_the_columns_can_hold_stop_nothing(read_as: Json, written: Json) -> None:
    with topic(AVRO, PREFIX, field(read_as)) as orders:
        query = orders.query(more={**RESTART, "mode": "PERMISSIVE"})
        orders.add(field(written))
        assert len(query.read(orders.framed(2, b"\x00\x00"))) == 1
