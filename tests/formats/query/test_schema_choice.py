"""Schemas of Protobuf: descriptor sets, and messages of a file. `test_schemas` has the others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.config_error import config_error
from tests.fakes.registry import registry, subjects
from tests.formats.protobuf.messages import descriptor_set
from tests.formats.suite.reading import Query, Value, columns_of, written

ID = pa.struct({"id": pa.int64()})
ORDERS = {
    "orders.proto": 'syntax = "proto3"; package shop; message Order { int64 id = 1; }',
    "lines.proto": 'syntax = "proto3"; package shop; message Line { int32 count = 1; }',
}


def described(file: Path, message: str = "shop.Order") -> dict[str, str]:
    return {
        "value.format": "protobuf",
        "value.protobuf.descriptor": f"{file}",
        "value.protobuf.message": message,
    }


def test_a_message_of_a_descriptor_set(tmp_path: Path) -> None:
    options = described(descriptor_set(tmp_path, ORDERS, "orders.proto", "lines.proto"))
    assert columns_of(options) == {"value": ID}
    assert Query(options, ["value"]).read(Value(b"\x08\x05")) == [{"value": {"id": 5}}]


def test_a_descriptor_set_that_cannot_be_used(tmp_path: Path) -> None:
    file = tmp_path / "orders.desc"

    def error(message: str = "shop.Order") -> str:
        return config_error(columns_of, described(file, message))

    assert error() == (
        "Option 'value.protobuf.descriptor' must be the path on the driver of a descriptor set. It "
        f"cannot be read: [Errno 2] No such file or directory: '{file}'"
    )
    file.write_text(ORDERS["orders.proto"])
    assert error().startswith(
        f"Option 'value.protobuf.descriptor', the file {file}: it is not a FileDescriptorSet: make "
        "it with protoc"
    )
    file.write_bytes(b"")
    assert error().endswith("the FileDescriptorSet has no file")
    descriptor_set(tmp_path, ORDERS, "orders.proto", "lines.proto").rename(file)
    assert error("shop.Gone") == (
        f"Option 'value.protobuf.descriptor', the file {file}: no message has the name "
        "'shop.Gone'; there are shop.Line, shop.Order"
    )


@pytest.mark.parametrize("framing", ["none", "confluent"])
def test_a_message_of_a_registered_schema(framing: str) -> None:
    both = 'syntax = "proto3"; message A { string text = 1; } message B { int64 id = 1; }'
    versions = [{"id": 1, "schema": both, "schemaType": "PROTOBUF"}]
    frame = {"none": b"", "confluent": b"\0\0\0\0\1\x02\x02"}[framing]
    with registry(subjects(orders__value=versions)) as fake:
        options = {
            "value.format": "protobuf",
            "value.protobuf.message": "B",
            "value.framing": framing,
            "schema.registry.url": fake.url,
        }
        rows = Query(options, ["value"]).read(Value(frame + b"\x08\x05"))
        given = pa.RecordBatch.from_arrays([pa.array([{"id": 5}], ID)], ["value"])
        payloads = written(options, given)["value"].to_pylist()
    assert rows == [{"value": {"id": 5}}]
    assert payloads == [frame + b"\x08\x05"]
