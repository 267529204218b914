"""Schemas of AWS Glue, from responses of its shapes over http: what botocore makes of them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry.glue import GlueClient
from kafka_formats.registry.glue_config import GlueConfig
from kafka_formats.registry.schemas import RegisteredSchema, SubjectVersion
from kafka_protocol.errors import KafkaConfigError
from tests.config_error import config_error
from tests.fakes.glue import error, glue, version_id
from tests.fakes.registry import FakeRegistry, Received, Reply, registry

pytestmark = pytest.mark.usefixtures("aws")

TEXTS = ['"int"', "", '"long"', '"string"']


Answering = Callable[[Callable[[Received], Reply]], FakeRegistry]


@pytest.fixture(scope="module")
def server() -> Iterator[FakeRegistry]:
    """One address for all tests: a client of another one takes botocore half a second to make."""
    with registry(lambda _: Reply()) as fake:
        yield fake


@pytest.fixture
def answering(server: FakeRegistry) -> Answering:
    """`answering(respond)`: the server from now on."""

    def answer(respond: Callable[[Received], Reply]) -> FakeRegistry:
        server.respond = respond
        server.received.clear()
        return server

    return answer


def client(fake: FakeRegistry, **options: str) -> GlueClient:
    given = {name.replace("__", "."): text for name, text in options.items()}
    return GlueClient(GlueConfig.from_options({"endpoint": fake.url, **given}))


def test_a_version_by_its_id_is_asked_for_once(answering: Answering) -> None:
    fake = answering(glue({"orders": TEXTS}))
    wanted = RegisteredSchema(version_id("orders", 3), "AVRO", '"long"')
    assert client(fake).schema_of_guid(version_id("orders", 3)) == wanted
    assert client(fake).schema_of_guid(version_id("orders", 3)) == wanted
    assert [each.body for each in fake.received] == [
        {"SchemaVersionId": str(version_id("orders", 3))}
    ]


def test_versions_by_the_name_of_the_schema(answering: Answering) -> None:
    fake = answering(glue({"orders": TEXTS}, "mine", page=3))
    found = client(fake, registry__name="mine")
    latest = RegisteredSchema(version_id("orders", 4), "AVRO", '"string"')
    assert found.version("orders", "latest") == SubjectVersion("orders", 4, latest)
    assert found.version("orders", 1).schema.text == '"int"'
    assert found.versions("orders") == [1, 3, 4]
    assert [each.body for each in fake.received][2:] == [
        {"SchemaId": SCHEMA, "MaxResults": 100},
        {"SchemaId": SCHEMA, "MaxResults": 100, "NextToken": "3"},
    ]


SCHEMA = {"SchemaName": "orders", "RegistryName": "mine"}


ASKING: list[Callable[[GlueClient], object]] = [
    lambda client: client.schema_of_guid(uuid.UUID(int=1)),
    lambda client: client.version("gone", "latest"),
    lambda client: client.versions("gone"),
]
ABOUT = [f"schema version {uuid.UUID(int=1)}", "schema 'gone', version latest", "the schema 'gone'"]


@pytest.mark.parametrize(("ask", "about"), [*zip(ASKING, ABOUT, strict=True)])
def test_what_does_not_exist(
    answering: Answering, ask: Callable[[GlueClient], object], about: str
) -> None:
    fake = answering(glue({"orders": TEXTS}))
    with pytest.raises(NotFoundError, match=f"{about}: AWS Glue does not have it: Schema "):
        ask(client(fake))


def test_numbers_are_no_ids_there(answering: Answering) -> None:
    fake = answering(glue({}))
    with pytest.raises(NotFoundError, match="schema id 7: AWS Glue has no numbers as ids"):
        client(fake).schema_of_id(7)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (
            error("AccessDeniedException", "User: arn:aws:iam::1:user/x is not authorized"),
            "AWS Glue refuses it: AccessDeniedException: User: arn.* allow glue:GetSchemaVersion",
        ),
        (error("InvalidInputException", "bad"), "refuses it: InvalidInputException: bad$"),
        (Reply(200, {"SchemaDefinition": "{}"}), "returns no schema of AVRO, PROTOBUF, JSON"),
        (Reply(200, {"SchemaDefinition": "", "DataFormat": "XML"}), "returns no schema of AVRO"),
        (
            Reply(200, {"SchemaDefinition": "{}", "DataFormat": "AVRO", "SchemaVersionId": "7"}),
            "AWS Glue returns no UUID of the version",
        ),
        (Reply(200, {"SchemaDefinition": "{}", "DataFormat": "AVRO"}), "no UUID of the version"),
        (Reply(200, body=b"nonsense"), "AWS Glue returns no schema"),
        (Reply(200, []), "AWS Glue returns an invalid response"),
        (Reply(200, None), "AWS Glue returns an invalid response"),
    ],
)
def test_refusals_and_nonsense(answering: Answering, reply: Reply, reason: str) -> None:
    fake = answering(lambda _: reply)
    with pytest.raises(RegistryError, match=reason) as caught:
        client(fake).schema_of_guid(uuid.UUID(int=1))
    assert not isinstance(caught.value, NotFoundError)


def test_numbers_of_versions_that_are_none(answering: Answering) -> None:
    whole = glue({"orders": TEXTS})

    def respond(request: Any) -> Reply:
        reply = whole(request)
        return Reply(values={**reply.values, "VersionNumber": 0})

    fake = answering(respond)
    with pytest.raises(RegistryError, match="returns no number of the version"):
        client(fake).version("orders", "latest")


def test_endless_pages_end(answering: Answering) -> None:
    fake = answering(lambda _: Reply(values={"Schemas": [], "NextToken": "1"}))
    with pytest.raises(RegistryError, match="AWS Glue lists more than 10000"):
        client(fake).versions("orders")


def test_an_error_that_may_pass_is_tried_again(answering: Answering) -> None:
    whole = glue({"orders": TEXTS})
    replies = [error("ThrottlingException", "slow"), Reply(503, {})]

    def respond(request: Any) -> Reply:
        return replies.pop() if replies else whole(request)

    fake = answering(respond)
    assert client(fake).version("orders", 1).schema.text == '"int"'
    assert len(fake.received) == 3


def test_without_credentials(answering: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    fake = answering(glue({}))
    asking = client(fake, region="eu-west-3")  # another client than that of the other tests
    with pytest.raises(RegistryError, match="cannot be reached: Unable to locate credentials"):
        asking.versions("orders")
    assert fake.received == []


def test_without_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    asking = GlueClient(GlueConfig())
    with pytest.raises(KafkaConfigError, match=r"set schema\.registry\.glue\.region or AWS_DEF"):
        asking.versions("orders")


def test_an_endpoint_that_is_no_url() -> None:
    asking = GlueClient(GlueConfig(endpoint="nonsense"))
    with pytest.raises(KafkaConfigError, match="AWS Glue cannot be used: Invalid endpoint"):
        asking.versions("orders")


def test_unknown_and_empty_options() -> None:
    assert config_error(GlueConfig.from_options, {"regoin": "x"}) == (
        "Option 'schema.registry.glue.regoin' is not known: did you mean "
        "'schema.registry.glue.region'?"
    )
    assert config_error(GlueConfig.from_options, {"zzz": "x"}).endswith("not known: remove it.")
    assert config_error(GlueConfig.from_options, {"region": " "}).endswith("set or remove it.")
    assert GlueConfig.from_options({"region": " eu-west-1 "}).region == "eu-west-1"
