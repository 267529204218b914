"""Schemas of a registry."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry import client as client_module
from kafka_formats.registry.client import RegisteredSchema, RegistryClient, SubjectVersion
from kafka_formats.registry.config import RegistryConfig
from tests.fakes.registry import FakeRegistry, Received, Reply, registry, subjects

GUID = uuid.UUID("12345678-1234-5678-1234-567812345678")
OLD: dict[str, Any] = {"id": 7, "schema": '"string"'}
NEW: dict[str, Any] = {"id": 9, "schema": '"bytes"', "schemaType": "AVRO", "references": None}


@pytest.fixture(autouse=True)
def _no_cache() -> Iterator[None]:
    yield
    client_module._cache.clear()


def of(fake: FakeRegistry) -> RegistryClient:
    return RegistryClient(RegistryConfig.from_options({"url": fake.url, "max.retries": "0"}))


def test_schemas_by_subject_and_version() -> None:
    with registry(subjects(orders__value=[OLD, NEW])) as fake:
        found = of(fake)
        old = RegisteredSchema(7, "AVRO", '"string"')
        new = RegisteredSchema(9, "AVRO", '"bytes"')
        assert found.versions("orders-value") == [1, 2]
        assert found.version("orders-value", 1) == SubjectVersion("orders-value", 1, old)
        assert found.version("orders-value", None) == SubjectVersion("orders-value", 2, new)


def test_subjects_are_quoted() -> None:
    with registry(lambda _request: Reply(values=[1])) as fake:
        assert of(fake).versions("a/b c%") == [1]
    assert fake.paths == ["/subjects/a%2Fb%20c%25/versions"]


def test_schemas_are_kept_by_id() -> None:
    with registry(subjects(orders=[OLD])) as fake:
        assert of(fake).schema_of_id(7) == of(fake).schema_of_id(7)
        assert of(fake).schema_of_id(7).text == '"string"'
    assert fake.paths == ["/schemas/ids/7"]


def test_schemas_by_guid() -> None:
    reply = Reply(values={"schema": '"int"', "schemaType": "AVRO", "guid": str(GUID)})
    with registry(lambda _request: reply) as fake:
        assert of(fake).schema_of_guid(GUID).text == '"int"'
    assert fake.paths == [f"/schemas/guids/{GUID}"]


def test_what_does_not_exist() -> None:
    with registry(subjects(orders=[OLD])) as fake:
        found = of(fake)
        for request, what in (
            (lambda: found.schema_of_id(8), "the schema id 8"),
            (lambda: found.versions("other"), "the versions of the subject 'other'"),
            (lambda: found.version("orders", 3), "version 3 of the subject 'orders'"),
        ):
            with pytest.raises(NotFoundError, match=f"does not have {what}"):
                request()
        with pytest.raises(NotFoundError):
            found.schema_of_id(8)
    assert fake.paths.count("/schemas/ids/8") == 2


def reference(name: str, subject: str) -> dict[str, object]:
    return {"name": name, "subject": subject, "version": 1}


def test_references_come_before_those_that_need_them_and_once() -> None:
    versions = {
        "order": [OLD | {"references": [reference("Line", "line"), reference("Money", "money")]}],
        "line": [{"id": 2, "schema": "LINE", "references": [reference("Money", "money")]}],
        "money": [{"id": 3, "schema": "MONEY"}],
    }
    with registry(subjects(**versions)) as fake:
        found = of(fake).schema_of_id(7)
    assert found.dependencies == (("Money", "MONEY"), ("Line", "LINE"))
    assert fake.paths.count("/subjects/money/versions/1?deleted=true") == 1


def test_references_in_a_circle_are_refused() -> None:
    versions = {
        "a": [OLD | {"references": [reference("B", "b")]}],
        "b": [{"id": 2, "schema": "B", "references": [reference("A", "a")]}],
    }
    with registry(subjects(**versions)) as fake:
        with pytest.raises(RegistryError, match="go in a circle: b -> a -> b"):
            of(fake).version("a", None)


def test_too_many_references_are_refused() -> None:
    def respond(request: Received) -> Reply:
        number = int(request.path.split("/")[2].lstrip("s")) if "subjects" in request.path else 0
        more = [reference("N", f"s{number + 1}")]
        return Reply(values={"id": 1, "version": 1, "schema": "S", "references": more})

    with registry(respond) as fake:
        with pytest.raises(RegistryError, match="the schema id 1 has more than 200 references"):
            of(fake).schema_of_id(1)


def test_a_missing_reference_names_who_needs_it() -> None:
    versions = {"a": [OLD | {"references": [reference("B", "b")]}]}
    with registry(subjects(**versions)) as fake:
        with pytest.raises(NotFoundError, match="version 1 of the subject 'b', to which"):
            of(fake).schema_of_id(7)


@pytest.mark.parametrize(
    "values",
    [
        [],
        {},
        {"schema": 1},
        {"schema": "s", "schemaType": 5},
        {"schema": "s", "references": "x"},
        {"schema": "s", "references": [1]},
        {"schema": "s", "references": [{"name": "n", "subject": "s", "version": True}]},
        "x" * 100_000,
    ],
)
def test_fault_63_json_that_does_not_belong_there(values: object) -> None:
    with registry(lambda _request: Reply(values=values)) as fake:
        with pytest.raises(RegistryError, match="does not belong there") as caught:
            of(fake).schema_of_id(7)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("values", [{}, [1, "2"], [True]])
def test_fault_63_versions_that_are_none(values: object) -> None:
    with registry(lambda _request: Reply(values=values)) as fake:
        with pytest.raises(RegistryError, match="the versions of the subject 's'"):
            of(fake).versions("s")


def test_schemas_are_looked_up_and_registered() -> None:
    def respond(request: Received) -> Reply:
        if request.body["schema"] == "known" or request.path.endswith("/versions"):
            return Reply(values={"id": 5})
        return Reply(404, {"error_code": 40403})

    with registry(respond) as fake:
        found = of(fake)
        assert found.look_up("s", "AVRO", "known") == 5
        assert found.look_up("s", "AVRO", "unknown") is None
        assert found.register("s", "AVRO", "unknown") == 5
    assert fake.paths == ["/subjects/s", "/subjects/s", "/subjects/s/versions"]
    assert fake.received[2].body == {"schema": "unknown", "schemaType": "AVRO"}


def test_an_incompatible_schema_is_refused() -> None:
    reply = Reply(409, {"error_code": 409, "message": "READER_FIELD_MISSING_DEFAULT_VALUE"})
    with registry(lambda _request: reply) as fake:
        with pytest.raises(RegistryError, match=r"READER_FIELD.*: the schema is not compatible"):
            of(fake).register("s", "AVRO", "x")
