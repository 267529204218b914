"""The schemas that payloads were written with."""

from __future__ import annotations

import pickle
import uuid

import pytest

from kafka_formats.errors import RegistryError, SchemaError, UnknownSchemaError
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
    kinds = [("PROTOBUF", 9), ("XML", 10)]
    versions = [{"id": number, "schema": "", "schemaType": kind} for kind, number in kinds]
    with registry(subjects(s=versions)) as fake:
        with pytest.raises(UnknownSchemaError, match=r"schema id 8: .* responded with 404"):
            writers(fake.url)(8)
        with pytest.raises(SchemaError, match="the schema id 9 is of the kind PROTOBUF, not AVRO"):
            writers(fake.url)(9)
        with pytest.raises(SchemaError, match="the schema id 10 is of the kind XML, not AVRO"):
            writers(fake.url)(10)


def test_a_flood_of_unknown_ids() -> None:
    """Anybody who may write to the topic names ids: each is asked for once, and not all."""
    with registry(subjects(s=[{"id": 5_000, "schema": '"int"'}])) as fake:
        schemas = writers(fake.url)
        for number in [*range(8, 1_008)] * 2:
            with pytest.raises(UnknownSchemaError, match=f"schema id {number}: "):
                schemas(number)
        assert len(fake.paths) == 1_000
        assert schemas(5_000).text == '"int"'
        with pytest.raises(RegistryError, match="name more than 1,000 schemas that the registry"):
            schemas(1_008)
        with pytest.raises(UnknownSchemaError):
            schemas.places(9)
        assert len(fake.paths) == 1_002
        # Another task begins anew.
        assert writers(fake.url).refused == pickle.loads(pickle.dumps(writers(fake.url))).refused


PAYLOAD, REGISTRY = SchemaError, RegistryError


@pytest.mark.no_cover
def test_the_registry_fails_the_task_whatever_its_status() -> None:
    """Only a 404 that names the schema as missing is about the payload."""
    statuses = {*range(300, 600)} - {301, 302, 307, 308}
    with registry(lambda request: Reply(int(request.path.rpartition("/")[2]))) as fake:
        schemas = writers(fake.url)
        for status in sorted(statuses):
            with pytest.raises(RegistryError, match=rf"^schema id {status}: .* with {status} "):
                schemas(status)


@pytest.mark.parametrize(
    ("reply", "whose"),
    [
        (Reply(404, {"error_code": 40403}), PAYLOAD),
        (Reply(404, {"error_code": 40401}), PAYLOAD),
        (Reply(404, {"error_code": 40402}), PAYLOAD),
        (Reply(404, {"error_code": 404}), REGISTRY),
        (Reply(404, body=b"<html>"), REGISTRY),
        (Reply(400, {"error_code": 40403}), REGISTRY),
        (Reply(422, {"error_code": 42202}), REGISTRY),
        (Reply(401, {"error_code": 40101}), REGISTRY),
        (Reply(403, {"error_code": 40301}), REGISTRY),
        (Reply(500, {"error_code": 50001}), REGISTRY),
        (Reply(200, body=b"<html>"), REGISTRY),
        (Reply(200, {"schema": 1}), REGISTRY),
        (Reply(200, {"schema": "", "schemaType": "XML"}), PAYLOAD),
    ],
    ids=str,
)
def test_whose_failure_it_is(reply: Reply, whose: type[Exception]) -> None:
    with registry(lambda _request: reply) as fake, pytest.raises(whose):
        writers(fake.url)(9)
