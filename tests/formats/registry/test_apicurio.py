"""The client of Apicurio's own API, against a fake of both APIs."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable
from typing import Literal

import pytest

from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry.apicurio import ApicurioClient, ApicurioConfig
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.sources import source_with
from kafka_protocol.errors import KafkaConfigError
from tests.config_error import config_error
from tests.fakes.apicurio import NOT_FOUND, SYSTEM, apicurio
from tests.fakes.registry import Received, Reply, registry

TEXTS = ['"int"', '"long"']
WHO = {"groupId": "g x", "artifactId": "n/Who", "version": "3", "name": "n.Who"}


def client(*urls: str, ids: Literal["globalIds", "contentIds"] = "globalIds") -> ApicurioClient:
    options = {"url": ",".join(urls), "max.retries": "0"}
    config = ApicurioConfig(RegistryConfig.from_options(options), ids)
    found = source_with(pickle.loads(pickle.dumps(config)))
    assert isinstance(found, ApicurioClient)
    return found


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("/apis/registry/v2", "/apis/registry/v2"),
        ("/apis/registry/v3/", "/apis/registry/v3"),
        ("/apis/ccompat/v7", "/apis/registry/v2"),
    ],
)
def test_ids_are_asked_for_at_one_api_and_subjects_at_the_other(path: str, own: str) -> None:
    with registry(apicurio("orders", TEXTS)) as fake:
        found = client(fake.url + path, ids="contentIds")
        for _ in range(2):
            schema = found.schema_of_id(2)
            assert (schema.id, schema.kind, schema.text) == (2, "", '"long"')
        version = found.version("orders", "latest")
        assert (version.version, version.schema.id, version.schema.text) == (2, None, '"long"')
        assert found.versions("orders") == [1, 2]
        assert found.subjects() == ["orders"]
    assert fake.paths == [
        f"{own}/ids/contentIds/2",
        f"{own}/ids/contentIds/2/references",
        "/apis/ccompat/v7/subjects/orders/versions/latest",
        "/apis/ccompat/v7/subjects/orders/versions",
        "/apis/ccompat/v7/subjects",
    ]


def responses(own: str, references: object = (WHO,)) -> Callable[[Received], Reply]:
    known = {
        f"{own}/ids/globalIds/7": Reply(body=b'"Order"'),
        f"{own}/ids/globalIds/7/references": Reply(values=references),
        "/v2/groups/g%20x/artifacts/n%2FWho/versions/3": Reply(body=b'"of v2"'),
        "/v3/groups/g%20x/artifacts/n%2FWho/versions/3": Reply(values={"version": "3"}),
        "/v3/groups/g%20x/artifacts/n%2FWho/versions/3/content": Reply(body=b'"of v3"'),
        f"{own}/groups/g%20x/artifacts/n%2FWho/versions/3/references": Reply(values=[]),
        f"{own}/system/info": SYSTEM,
    }
    return lambda request: known.get(request.path.removeprefix("/apis/registry"), NOT_FOUND)


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_the_schemas_that_a_schema_refers_to(version: str) -> None:
    with registry(responses(f"/{version}")) as fake:
        found = client(f"{fake.url}/apis/registry/{version}").schema_of_id(7)
    assert found.dependencies == (("n.Who", f'"of {version}"'),)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": "1.0"}, "'version' of a reference is not a number"),
        ({"version": "0"}, "'version' of a reference is not a number"),
        ({"artifactId": ".."}, "'artifactId' of a reference is not a name"),
        ({"groupId": "."}, "'groupId' of a reference is not a name"),
        ({"artifactId": ""}, "'artifactId' of a reference is not a name"),
        ({"name": 7}, "'name' is not a text"),
    ],
)
def test_references_that_lead_elsewhere(change: dict[str, object], reason: str) -> None:
    with registry(responses("/v2", [WHO | change])) as fake:
        with pytest.raises(RegistryError, match=f"globalId 7, its references: .*{reason}"):
            client(f"{fake.url}/apis/registry/v2").schema_of_id(7)


def test_references_that_are_no_list() -> None:
    with registry(responses("/v2", {"name": "x"})) as fake:
        with pytest.raises(RegistryError, match="it is not a list, or has more than 1000"):
            client(f"{fake.url}/apis/registry/v2").schema_of_id(7)


def test_a_reference_without_a_group_is_in_the_default_one() -> None:
    with registry(responses("/v2", [{**WHO, "groupId": None}])) as fake:
        with pytest.raises(RegistryError, match=r"reference 'n\.Who' to groups/default/artifacts/"):
            client(f"{fake.url}/apis/registry/v2").schema_of_id(7)


def test_an_id_that_is_not_there_and_a_server_that_is_not_apicurio() -> None:
    with registry(apicurio("orders", TEXTS)) as fake:
        with pytest.raises(NotFoundError, match=r"schema globalId 9223372036854775807: .* 404"):
            client(f"{fake.url}/apis/registry/v2").schema_of_id(2**63 - 1)
    with registry(lambda _: NOT_FOUND) as fake:
        with pytest.raises(RegistryError, match="check the path") as raised:
            client(f"{fake.url}/apis/registry/v2").schema_of_id(1)
    assert not isinstance(raised.value, NotFoundError)


def test_a_schema_that_is_not_text() -> None:
    with registry(lambda _: Reply(body=b"\xff")) as fake:
        with pytest.raises(RegistryError, match=r"schema globalId 1: .*it is not UTF-8"):
            client(f"{fake.url}/apis/registry/v2").schema_of_id(1)


@pytest.mark.parametrize(
    "urls",
    [
        ["http://r"],
        ["http://r/apis/registry/v1"],
        ["http://r/apis/ccompat"],
        ["http://r/apis/registry/v2", "http://s/apis/registry/v3"],
        ["http://r/apis/registry/v2", "http://s"],
    ],
)
def test_other_urls_are_refused(urls: list[str]) -> None:
    assert "Option 'schema.registry.url' must end with /apis/registry/v2" in config_error(
        client, *urls
    )


def test_what_apicurio_does_not_have() -> None:
    found = client("http://r/apis/registry/v2")
    with pytest.raises(NotFoundError, match="Apicurio's ids are numbers"):
        found.schema_of_guid(uuid.UUID(int=1))
    with pytest.raises(RegistryError, match="no version by metadata"):
        found.version_with_metadata("s", [("a", "b")])
    with pytest.raises(KafkaConfigError):
        client("http://r")
