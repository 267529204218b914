"""The client of schema registries and a real one, which is Apicurio's with Confluent's API.

It differs from Confluent's where these tests allow it: a GUID is not known there.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from kafka_formats.avro.schema import RecordSchema, parse_schema
from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry.apicurio import ApicurioClient, ApicurioConfig
from kafka_formats.registry.client import RegistryClient
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.schemas import NewSchema, Reference
from kafka_spark_source.testing import SchemaRegistry

pytestmark = pytest.mark.integration

PROTO = 'syntax = "proto3";\nmessage Order {\n  int64 id = 1;\n}\n'


@pytest.fixture
def client(schema_registry: SchemaRegistry) -> RegistryClient:
    return RegistryClient(RegistryConfig.from_options({"url": schema_registry.url}))


@pytest.fixture
def subject() -> str:
    return f"orders-{uuid.uuid4()}-value"


def record(name: str, **types: Any) -> NewSchema:
    fields = [{"name": field, "type": kind} for field, kind in types.items()]
    return NewSchema("AVRO", json.dumps({"type": "record", "name": name, "fields": fields}))


def test_a_registered_schema_is_found_by_id_version_and_text(
    client: RegistryClient, subject: str
) -> None:
    schema = record("Order", id="long")
    schema_id = client.register(subject, schema)
    assert client.register(subject, schema) == schema_id
    found = client.schema_of_id(schema_id)
    assert (found.id, found.kind) == (schema_id, "AVRO")
    assert parse_schema(found.text) == parse_schema(schema.text)
    assert client.versions(subject) == [1]
    for version in (client.version(subject, 1), client.version(subject, "latest")):
        assert (version.subject, version.version, version.schema.id) == (subject, 1, schema_id)
    looked_up = client.look_up(subject, schema)
    assert looked_up is not None
    assert (looked_up.version, looked_up.schema.id) == (1, schema_id)


def test_a_new_version(client: RegistryClient, subject: str) -> None:
    old = record("Order", id="long")
    new = NewSchema("AVRO", old.text.replace("]", ', {"name": "n", "type": "int", "default": 0}]'))
    ids = [client.register(subject, schema) for schema in (old, new)]
    assert client.versions(subject) == [1, 2]
    assert client.version(subject, "latest").schema.id == ids[1]
    assert client.version(subject, 1).schema.id == ids[0]


def test_an_incompatible_schema_is_refused_with_reasons(
    client: RegistryClient, subject: str
) -> None:
    client.register(subject, record("Order", id="long"))
    other = record("Order", id="string")
    assert client.incompatibilities(subject, other) != []
    assert client.incompatibilities(subject, record("Order", id="long")) == []
    with pytest.raises(RegistryError, match="responded with 409"):
        client.register(subject, other)


def test_an_invalid_schema_is_refused(client: RegistryClient, subject: str) -> None:
    with pytest.raises(RegistryError, match="responded with 422"):
        client.register(subject, NewSchema("AVRO", '{"type": "none"}'))


def test_what_does_not_exist(client: RegistryClient, subject: str) -> None:
    with pytest.raises(NotFoundError, match="subject"):
        client.versions(subject)
    with pytest.raises(NotFoundError, match="version latest"):
        client.version(subject, "latest")
    with pytest.raises(NotFoundError, match="schema id 2000000000"):
        client.schema_of_id(2_000_000_000)
    assert client.look_up(subject, record("Order", id="long")) is None
    client.register(subject, record("Order", id="long"))
    with pytest.raises(NotFoundError, match="version 9"):
        client.version(subject, 9)
    assert client.look_up(subject, record("Order", id="int")) is None


def test_a_registry_without_guids_is_an_error_by_name(client: RegistryClient) -> None:
    with pytest.raises(RegistryError, match="schema GUID"):
        client.schema_of_guid(uuid.uuid4())


def test_references_of_references(client: RegistryClient, subject: str) -> None:
    price = NewSchema("AVRO", '{"type": "fixed", "name": "Price", "size": 4}')
    client.register(f"{subject}-price", price)
    line = NewSchema(
        "AVRO", record("Line", price="Price").text, (Reference("Price", f"{subject}-price", 1),)
    )
    client.register(f"{subject}-line", line)
    order = NewSchema(
        "AVRO", record("Order", line="Line").text, (Reference("Line", f"{subject}-line", 1),)
    )
    found = client.schema_of_id(client.register(subject, order))
    assert found.references == order.references
    assert [name for name, _ in found.dependencies] == ["Price", "Line"]
    texts = [text for _, text in found.dependencies]
    assert isinstance(parse_schema(found.text, texts), RecordSchema)


@pytest.mark.parametrize("name", ["a/b", "a b", "ü", "a%2Fb", "a?b#c", "a.b:c"])
def test_names_of_subjects(client: RegistryClient, subject: str, name: str) -> None:
    schema_id = client.register(f"{name}{subject}", record("Order", id="long"))
    found = client.version(f"{name}{subject}", "latest")
    assert (found.subject, found.schema.id) == (f"{name}{subject}", schema_id)


# Without its first part the registry of the tests does not take it for a JSON Schema.
JSON = '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}'


@pytest.mark.parametrize("schema", [NewSchema("PROTOBUF", PROTO), NewSchema("JSON", JSON)])
def test_other_kinds_of_schemas(client: RegistryClient, subject: str, schema: NewSchema) -> None:
    found = client.schema_of_id(client.register(subject, schema))
    assert found.kind == schema.kind
    assert "".join(found.text.split()) == "".join(schema.text.split())


def test_a_schema_of_one_megabyte(client: RegistryClient, subject: str) -> None:
    symbols = [f"SYMBOL_{i:06}" for i in range(70_000)]
    text = json.dumps({"type": "enum", "name": "E", "symbols": symbols})
    assert len(text) > 1024 * 1024
    found = client.schema_of_id(client.register(subject, NewSchema("AVRO", text)))
    assert parse_schema(found.text) == parse_schema(text)


def test_apicurios_own_ids(
    schema_registry: SchemaRegistry, client: RegistryClient, subject: str
) -> None:
    """The ids of its API as Confluent's are contentIds, if it is not set otherwise."""
    who = record(f"Who{uuid.uuid4().hex}", id="long")
    name = json.loads(who.text)["name"]
    client.register(name, who)
    order = record("Order", who=name)
    content_id = client.register(
        subject, NewSchema("AVRO", order.text, (Reference(name, name, 1),))
    )
    own = ApicurioClient(
        ApicurioConfig(RegistryConfig.from_options({"url": schema_registry.url}), "contentIds")
    )
    found = own.schema_of_id(content_id)
    texts = [text for _, text in found.dependencies]
    assert parse_schema(found.text, texts) == parse_schema(order.text, [who.text])
    assert own.version(subject, "latest").schema.text == found.text
    with pytest.raises(NotFoundError, match="schema contentId 9223372036854775807"):
        own.schema_of_id(2**63 - 1)
