"""The client of Azure Schema Registry, and a read with it, against a fake of its web API."""

from __future__ import annotations

import json
import pickle
import uuid
from typing import Any

import pytest

from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry.azure import AzureClient, AzureConfig
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.sources import source_with
from tests.fakes.registry import Received, Reply, registry
from tests.formats.schema_ids.test_azure import ID, content_type, preview
from tests.formats.suite.reading import Query, Value

MISSING = Reply(404, {"error": {"code": "ItemNotFound", "message": "no such schema"}})
PATH = f"/$schemaGroups/$schemas/{ID.hex}?api-version=2022-10"
TOKEN = "secret-token"


def schema(*fields: str) -> str:
    listed = [{"name": name, "type": "long", "default": 0} for name in fields]
    return json.dumps({"type": "record", "name": "Order", "fields": listed})


def azure(text: bytes, content: str = "application/json; serialization=Avro") -> Any:
    """The responses of a registry with one schema."""

    def respond(request: Received) -> Reply:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return Reply(401, {"error": {"code": "Unauthorized", "message": TOKEN}})
        if request.path == PATH:
            return Reply(body=text, headers={"Content-Type": content})
        if request.path == "/$schemaGroups?api-version=2022-10":
            return Reply(values={"schemaGroups": ["orders"]})
        return MISSING

    return respond


def client(url: str, token: str = TOKEN) -> AzureClient:
    options = {
        "url": url,
        "max.retries": "0",
        "bearer.auth.credentials.source": "STATIC_TOKEN",
        "bearer.auth.token": token,
    }
    config = AzureConfig(RegistryConfig.from_options(options))
    found = source_with(pickle.loads(pickle.dumps(config)))
    assert isinstance(found, AzureClient)
    return found


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("application/json; serialization=Avro", "AVRO"),
        ("application/json;serialization=Json", "JSON"),
        ("text/plain", ""),
    ],
)
def test_a_schema_is_asked_for_once(content: str, kind: str) -> None:
    with registry(azure(b'"int"', content)) as fake:
        for _ in range(2):
            found = client(fake.url).schema_of_guid(ID)
            assert (found.id, found.kind, found.text) == (ID, kind, '"int"')
        assert fake.paths == [PATH]


def test_a_schema_that_is_not_there_and_a_server_that_is_not_azure() -> None:
    other = uuid.UUID(int=7)
    with registry(azure(b"")) as fake:
        with pytest.raises(NotFoundError, match=f"schema id {other.hex}: .* no such schema"):
            client(fake.url).schema_of_guid(other)
    with registry(lambda _: MISSING) as fake:
        with pytest.raises(RegistryError) as raised:
            client(fake.url).schema_of_guid(ID)
    assert not isinstance(raised.value, NotFoundError)


def test_errors_hide_the_token() -> None:
    def echo(request: Received) -> Reply:
        return Reply(403, {"message": request.headers["Authorization"]})

    with registry(echo) as fake:
        with pytest.raises(RegistryError, match="responded with 403") as raised:
            client(fake.url).schema_of_guid(ID)
    assert TOKEN not in str(raised.value)


def test_a_schema_that_is_not_text() -> None:
    with registry(azure(b"\xff")) as fake:
        with pytest.raises(RegistryError, match="it is not UTF-8"):
            client(fake.url).schema_of_guid(ID)


def test_what_azure_does_not_have() -> None:
    found = client("https://r")
    with pytest.raises(NotFoundError, match="32 hexadecimal digits"):
        found.schema_of_id(7)
    with pytest.raises(NotFoundError, match="Azure has no subjects"):
        found.version("s", 1)
    with pytest.raises(NotFoundError, match="Azure has no subjects"):
        found.version_with_metadata("s", [])
    with pytest.raises(NotFoundError, match="Azure has no subjects"):
        found.versions("s")
    with pytest.raises(RegistryError, match="Azure has no subjects"):
        found.subjects()


@pytest.mark.parametrize("given", [schema("id", "who"), f"id:{ID.hex}"])
def test_a_read(given: str) -> None:
    with registry(azure(schema("id").encode())) as fake:
        options = {
            "value.format": "avro",
            "value.framing": "azure",
            "value.schema": given,
            "mode": "PERMISSIVE",
            "schema.registry.url": fake.url,
            "schema.registry.bearer.auth.credentials.source": "STATIC_TOKEN",
            "schema.registry.bearer.auth.token": TOKEN,
        }
        in_header = [{"key": "content-type", "value": content_type(ID)}]
        unknown = [{"key": "content-type", "value": content_type(uuid.UUID(int=7))}]
        rows = Query(options, ["value", "_error"]).read(
            Value(b"\x0a", in_header),
            Value(preview(ID, b"\x0c")),
            Value(None, in_header),
            Value(b"\x0a", unknown),
            Value(b"\x0a"),
        )
    assert [row["value"] and row["value"]["id"] for row in rows] == [5, 6, None, None, None]
    assert rows[2]["_error"] is None
    assert "no such schema" in rows[3]["_error"]
    assert "nor is an id of Azure's" in rows[4]["_error"]
