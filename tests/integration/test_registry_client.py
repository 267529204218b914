"""The registry's client and a real registry."""

from __future__ import annotations

import itertools
import json

import pytest

from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry.client import RegistryClient
from kafka_formats.registry.config import RegistryConfig
from kafka_spark_source.testing import SchemaRegistry

pytestmark = pytest.mark.integration

_numbers = itertools.count(1)


def record(*fields: tuple[str, object], name: str = "Order") -> str:
    listed = [{"name": field, "type": kind} for field, kind in fields]
    return json.dumps({"type": "record", "name": name, "fields": listed})


ID = ("id", "long")


@pytest.fixture
def client(schema_registry: SchemaRegistry) -> RegistryClient:
    return RegistryClient(RegistryConfig.from_options({"url": schema_registry.url}))


@pytest.fixture
def subject() -> str:
    """One with letters that addresses quote."""
    return f"über/{next(_numbers)} a%b-value"


def test_versions_and_ids(client: RegistryClient, subject: str) -> None:
    old = record(ID)
    new = json.loads(old)
    new["fields"].append({"name": "who", "type": "string", "default": ""})
    ids = [client.register(subject, "AVRO", each) for each in (old, json.dumps(new))]
    assert client.versions(subject) == [1, 2]
    latest = client.version(subject, None)
    assert (latest.version, latest.schema.id) == (2, ids[1])
    assert json.loads(latest.schema.text) == new
    assert client.version(subject, 1).schema.id == ids[0]
    assert client.schema_of_id(ids[0]).text == client.version(subject, 1).schema.text
    assert client.look_up(subject, "AVRO", old) == ids[0]
    assert client.look_up(subject, "AVRO", record(("other", "int"))) is None


def test_an_incompatible_schema_is_refused(client: RegistryClient, subject: str) -> None:
    client.register(subject, "AVRO", record(ID))
    with pytest.raises(RegistryError, match=r"status 409.*not compatible"):
        client.register(subject, "AVRO", record(ID, ("more", "string")))
    with pytest.raises(RegistryError, match="status 422"):
        client.register(subject, "AVRO", "{")


def test_what_does_not_exist(client: RegistryClient, subject: str) -> None:
    with pytest.raises(NotFoundError, match="versions of the subject"):
        client.versions(subject)
    with pytest.raises(NotFoundError, match="version latest of the subject"):
        client.version(subject, None)
    with pytest.raises(NotFoundError, match="the schema id 99999"):
        client.schema_of_id(99_999)
    assert client.look_up(subject, "AVRO", record(ID)) is None


def test_over_tls(subject: str) -> None:
    with SchemaRegistry(tls=True) as secured:
        options = {
            name.removeprefix("schema.registry."): text
            for name, text in secured.client_options.items()
        }
        client = RegistryClient(RegistryConfig.from_options(options))
        assert client.register(subject, "AVRO", record(ID)) > 0
        untrusted = RegistryClient(
            RegistryConfig.from_options({"url": secured.url, "max.retries": "0"})
        )
        with pytest.raises(RegistryError, match=r"set schema\.registry\.ssl\.truststore"):
            untrusted.versions(subject)
