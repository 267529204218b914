"""The schemas that payloads were written with."""

from __future__ import annotations

import pickle
import uuid

import pytest

from kafka_formats.errors import RegistryError, SchemaError
from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.schemas_by_id import SchemasById
from tests.fakes.registry import Reply, registry, subjects

KNOWN: dict[int | uuid.UUID, SchemaText] = {7: SchemaText('"string"')}


def writers(url: str) -> SchemasById:
    config = RegistryConfig.from_options({"url": url, "max.retries": "0"})
    found = pickle.loads(pickle.dumps(SchemasById(KNOWN, Format.AVRO, config)))
    assert isinstance(found, SchemasById)
    return found


def test_the_registry_is_asked_for_unknown_schemas_only() -> None:
    with registry(subjects(s=[{"id": 9, "schema": '"int"'}])) as fake:
        found = writers(fake.url)
        assert found(7) == KNOWN[7]
        assert fake.paths == []
        assert found(9) == found(9) == SchemaText('"int"')
    assert fake.paths == ["/schemas/ids/9"]


def test_a_schema_with_a_guid() -> None:
    with registry(lambda _request: Reply(values={"schema": '"int"'})) as fake:
        assert writers(fake.url)(uuid.UUID(int=1)).text == '"int"'


def test_a_schema_that_does_not_exist_or_is_another_format_breaks_payloads() -> None:
    with registry(subjects(s=[{"id": 9, "schema": "", "schemaType": "PROTOBUF"}])) as fake:
        with pytest.raises(SchemaError, match=r"schema id 8: .* responded with 404"):
            writers(fake.url)(8)
        with pytest.raises(SchemaError, match="the schema id 9 is of the kind PROTOBUF, not AVRO"):
            writers(fake.url)(9)


def test_a_registry_that_is_down_breaks_no_payload() -> None:
    with registry(lambda _request: Reply(503)) as fake:
        with pytest.raises(RegistryError, match=r"schema id 9: .* responded with 503"):
            writers(fake.url)(9)
