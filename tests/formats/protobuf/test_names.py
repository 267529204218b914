"""Messages are found by their names, also those of a descriptor set's other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import SchemaText, descriptor_set_text
from kafka_formats.protobuf.compiler import compiled
from kafka_formats.protobuf.descriptors import message_in, name_in
from kafka_formats.protobuf.names import messages_in, name_meant
from tests.formats.protobuf.messages import descriptor_set

FILES = {
    "line.proto": 'syntax = "proto3"; package shop; message Line { string sku = 1; }',
    "order.proto": """
        syntax = "proto3"; package shop; import "line.proto";
        message Order { repeated Line lines = 1; message Note { string text = 1; } }
    """,
    "visit.proto": """
        syntax = "proto3"; package web; message Visit { string page = 1; }
        message Order { int32 visits = 1; }
    """,
}


def test_places_and_names_of_nested_messages() -> None:
    own = compiled(SchemaText(FILES["visit.proto"])).own
    assert messages_in(own) == {(0,): "web.Visit", (1,): "web.Order"}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("a.B", "a.B"), ("B.C", "a.B.C"), ("C", "a.B.C"), ("a.B.C", "a.B.C")],
)
def test_a_full_name_or_its_end(wanted: str, found: str) -> None:
    assert name_meant(wanted, ["a.B", "a.B.C", "a.XC"]) == found


def test_a_full_name_counts_before_the_end_of_another() -> None:
    assert name_meant("B", ["a.B", "B"]) == "B"


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ("X", "no message has the name 'X'; there are a.B, c.B, d.E"),
        ("B", "several messages have the name 'B'; there are a.B, c.B$"),
    ],
)
def test_no_message_or_several(wanted: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        name_meant(wanted, ["a.B", "c.B", "d.E"])


@pytest.mark.parametrize(
    ("message", "name", "files"),
    [
        (None, "web.Visit", {"visit.proto"}),
        ("shop.Order", "shop.Order", {"line.proto", "order.proto"}),
        ("Note", "shop.Order.Note", {"line.proto", "order.proto"}),
        ("shop.Line", "shop.Line", {"line.proto"}),
        ("web.Order", "web.Order", {"visit.proto"}),
    ],
)
def test_a_message_of_any_file_of_a_set(
    tmp_path: Path, message: str | None, name: str, files: set[str]
) -> None:
    content = descriptor_set(tmp_path, FILES, "order.proto", "visit.proto").read_bytes()
    schema = SchemaText(descriptor_set_text(content), message=message)
    assert name_in(schema) == name
    assert message_in(schema).full_name == name
    assert {each.name for each in compiled(schema)} == files


def test_what_a_set_has_is_listed(tmp_path: Path) -> None:
    content = descriptor_set(tmp_path, FILES, "order.proto", "visit.proto").read_bytes()
    with pytest.raises(SchemaError, match="no message has the name 'Gone'; there are ") as caught:
        name_in(SchemaText(descriptor_set_text(content), message="Gone"))
    assert "web.Visit, web.Order, shop.Order, shop.Order.Note, shop.Line" in str(caught.value)
