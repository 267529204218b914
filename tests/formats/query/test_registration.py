"""Schemas that import others are looked up and registered as Confluent's serializer does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kafka_formats.options.formats import PayloadOptions, WriteFormatOptions
from kafka_formats.options.settings import Format, Framing
from kafka_formats.payload.schema_text import SchemaText, descriptor_set_text
from kafka_formats.query.write import WrittenColumn, encoder_for
from tests.config_error import config_error
from tests.fakes.registry import FakeRegistry, Received, Reply, registry
from tests.formats.protobuf.messages import descriptor_set, message_class
from tests.formats.protobuf.test_descriptors import FILES

VALUE = pa.array([{"id": 5}], pa.struct({"id": pa.int64()}))
ROWS = pa.RecordBatch.from_arrays([VALUE], ["value"])
# Confluent's serializer writes the index of the first message as one byte, as we do.
PAYLOAD = b"\x00\x00\x00\x00\x03\x00\x08\x05"


class Subjects:
    """A registry that keeps what is registered; each new schema has the next id, and version 1."""

    def __init__(self) -> None:
        self.ids: dict[str, tuple[int, dict[str, Any]]] = {}

    def __call__(self, request: Received) -> Reply:
        path, _, _ = request.path.partition("?")
        subject = unquote(path.split("/")[2])
        if path.endswith("/versions/1"):
            return self._version(subject)
        if request.body is None:
            return Reply(404, {"error_code": 404, "message": "Confluent's client can do without"})
        schema = {name: request.body[name] for name in ("schema", "schemaType")}
        schema["references"] = request.body.get("references") or []
        if path.endswith("/versions"):
            found = self.ids.setdefault(subject, (len(self.ids) + 1, schema))
            return Reply(values={"id": found[0]})
        if self.ids.get(subject, (0, {}))[1] != schema:
            return Reply(404, {"error_code": 40403, "message": "Schema not found"})
        return self._version(subject)

    def _version(self, subject: str) -> Reply:
        schema_id, schema = self.ids[subject]
        return Reply(values=schema | {"subject": subject, "version": 1, "id": schema_id})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return descriptor_set(tmp_path, FILES, *FILES)


def written(fake: FakeRegistry, file: Path, *, auto_register: bool) -> bytes:
    payload = PayloadOptions(
        *("value", Format.PROTOBUF, Framing.CONFLUENT, None, None, None, "shop.Order"),
        descriptor=str(file),
    )
    options = WriteFormatOptions((payload,), auto_register, {"url": fake.url, "max.retries": "0"})
    encoder = encoder_for(options, "orders", {"value": WrittenColumn(0, VALUE.type)})
    found: bytes = encoder.encode(ROWS)["value"][0].as_py()
    return found


def serialized(fake: FakeRegistry, file: Path) -> bytes:
    schema = SchemaText(descriptor_set_text(file.read_bytes()), message="shop.Order")
    order = message_class(schema, "shop.Order")
    client = SchemaRegistryClient({"url": fake.url})
    serialize = ProtobufSerializer(order, client, {"use.deprecated.format": False})
    context = SerializationContext("orders", MessageField.VALUE)
    found: bytes = serialize(order(id=5), context)
    return found


def test_what_is_registered_is_what_confluents_serializer_registers(file: Path) -> None:
    ours, theirs = Subjects(), Subjects()
    with registry(theirs) as fake:
        assert serialized(fake, file) == PAYLOAD
    with registry(ours) as fake:
        assert written(fake, file, auto_register=True) == PAYLOAD
        assert written(fake, file, auto_register=True) == PAYLOAD
    assert [*ours.ids] == ["shop/unit.proto", "shop/line.proto", "orders-value"]
    assert ours.ids == theirs.ids


def test_what_is_registered_is_found(file: Path) -> None:
    with registry(Subjects()) as fake:
        serialized(fake, file)
        fake.received.clear()
        assert written(fake, file, auto_register=False) == PAYLOAD
        assert not any("/versions?" in path for path in fake.paths)


def test_an_import_that_is_not_registered(file: Path) -> None:
    with registry(Subjects()) as fake:
        error = config_error(written, fake, file, auto_register=False)
    assert error == (
        f"The schema of the values, the file {file}, is not in the subject 'shop/unit.proto': "
        "register it there, or set auto.register.schemas to true."
    )
