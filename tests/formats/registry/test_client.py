"""Schemas by id, GUID and subject, with what they refer to; look-ups and registrations."""

from __future__ import annotations

import pickle
import traceback
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_formats.errors import NotFoundError, RegistryError, UnknownPathError
from kafka_formats.registry.client import RegistryClient
from kafka_formats.registry.schemas import (
    NewSchema,
    Reference,
    RegisteredSchema,
    SubjectVersion,
)
from kafka_protocol.auth.secret import Secret
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.formats.registry.server import FakeRegistry, config_of, error, ok, response, running
from tests.secret_check import PASSWORD

LONG = NewSchema("AVRO", '"long"')
GUID = uuid.UUID("cc0e0e0e-53c1-4a1a-8f1a-000000000001")


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with running() as running_registry:
        yield running_registry


def client(registry: FakeRegistry, **values: Any) -> RegistryClient:
    return RegistryClient(config_of(registry.url, **values))


def body(text: str, *references: str, **fields: Any) -> dict[str, Any]:
    """A schema in a response, and the subjects of its references, which are their names, too."""
    needed = [{"name": name, "subject": name, "version": 1} for name in references]
    return {"schema": text, **({"references": needed} if needed else {}), **fields}


def version_body(subject: str, text: str, *references: str) -> bytes:
    return ok(body(text, *references, subject=subject, version=1, id=5))


def test_a_schema_by_id(registry: FakeRegistry) -> None:
    registry.on("/schemas/ids/7", ok(body('"long"')))
    assert client(registry).schema_of_id(7) == RegisteredSchema(7, "AVRO", '"long"')


def test_a_schema_by_guid_has_no_id(registry: FakeRegistry) -> None:
    registry.on(f"/schemas/guids/{GUID}", ok(body("syntax", schemaType="PROTOBUF", guid="x")))
    for _ in range(2):
        found = client(registry).schema_of_guid(GUID)
        assert found == RegisteredSchema(None, "PROTOBUF", "syntax")
    guids = f"/schemas/guids/{GUID}"
    assert registry.targets == [guids, f"{guids}?format=serialized"]


DESCRIPTOR = "CgRwLnByb3Rv"  # FileDescriptorProto(name="p.proto")


def proto(text: str, *references: str, **fields: Any) -> bytes:
    return ok(body(text, *references, schemaType="PROTOBUF", **fields))


def test_a_schema_of_protobuf_is_its_descriptor_where_the_registry_gives_it(
    registry: FakeRegistry,
) -> None:
    """Confluent's does. Then no text of others is compiled."""
    serialized = "format=serialized"
    registry.on("/schemas/ids/7", proto("syntax", "a"))
    registry.on(f"/schemas/ids/7?{serialized}", proto(DESCRIPTOR))
    registry.on("/subjects/a/versions/1?deleted=true", proto("A", subject="a", version=1, id=8))
    registry.on(
        f"/subjects/a/versions/1?deleted=true&{serialized}",
        proto(DESCRIPTOR, subject="a", version=1, id=8),
    )
    found = client(registry).schema_of_id(7)
    assert (found.text, found.dependencies) == (DESCRIPTOR, (("a", DESCRIPTOR),))
    assert found.references == (Reference("a", "a", 1),)


def test_the_descriptor_is_that_of_the_version_that_was_the_latest(registry: FakeRegistry) -> None:
    registry.on("/subjects/s/versions/latest", proto("syntax", subject="s", version=3, id=7))
    registry.on(
        "/subjects/s/versions/3?format=serialized",
        proto(DESCRIPTOR, subject="s", version=3, id=7),
    )
    found = client(registry).version("s", "latest")
    assert (found.version, found.schema.text) == (3, DESCRIPTOR)


def test_a_descriptor_is_taken_as_it_is(registry: FakeRegistry) -> None:
    """Confluent's clients in Python register descriptors."""
    registry.on("/schemas/ids/7", proto(DESCRIPTOR))
    assert client(registry).schema_of_id(7).text == DESCRIPTOR
    assert registry.targets == ["/schemas/ids/7"]


@pytest.mark.parametrize(
    "reply", [proto("syntax"), error(400, 400), error(422, 42201)], ids=["ignores", "400", "422"]
)
def test_a_registry_without_descriptors_is_asked_once(registry: FakeRegistry, reply: bytes) -> None:
    registry.on("/schemas/ids/7", proto("syntax"))
    registry.on("/schemas/ids/8", proto("other"))
    registry.on("/schemas/ids/7?format=serialized", reply)
    texts = [client(registry).schema_of_id(each).text for each in (7, 8)]
    assert texts == ["syntax", "other"]
    assert registry.targets == [
        *("/schemas/ids/7", "/schemas/ids/7?format=serialized", "/schemas/ids/8")
    ]


def test_a_descriptor_that_cannot_be_asked_for_is_an_error(registry: FakeRegistry) -> None:
    """Text and descriptor of one schema are not compared, so no request decides which it is."""
    registry.on("/schemas/ids/7", proto("syntax"))
    registry.on("/schemas/ids/7?format=serialized", error(403, 40301))
    with pytest.raises(RegistryError, match="grant this client the right"):
        client(registry).schema_of_id(7)


def test_an_id_is_asked_once_by_a_process(registry: FakeRegistry) -> None:
    registry.on("/schemas/ids/7", ok(body('"long"', "a")))
    registry.on("/subjects/a/versions/1?deleted=true", version_body("a", '"int"'))
    registry.on("/schemas/ids/8", ok(body('"int"', "a")))
    first = client(registry).schema_of_id(7)
    assert client(registry).schema_of_id(7) is first
    client(registry).schema_of_id(8)
    assert registry.targets == [
        *("/schemas/ids/7", "/subjects/a/versions/1?deleted=true", "/schemas/ids/8")
    ]


def test_an_id_that_does_not_exist_is_asked_again(registry: FakeRegistry) -> None:
    registry.on("/schemas/ids/7", error(404, 40403), ok(body('"long"')))
    with pytest.raises(
        NotFoundError, match=r"^schema id 7: http.*/schemas/ids/7 responded with 404"
    ):
        client(registry).schema_of_id(7)
    with sleeps_take_no_time() as passing:
        passing(0.2)
        assert client(registry).schema_of_id(7).text == '"long"'


@pytest.mark.parametrize(
    ("said", "places"),
    [
        (
            ok([{"subject": "s", "version": 3}, {"subject": "t", "version": 1}]),
            [("s", 3), ("t", 1)],
        ),
        (ok([]), []),
        (error(404, 40403), []),
        # Registries that do not have the path, or do not allow it.
        (error(404, 404), None),
        (response(404, b"<html>", "text/html"), None),
        (response(405, b"", "text/html"), None),
        (error(403, 40301), None),
    ],
)
def test_the_places_of_a_schema(
    registry: FakeRegistry, said: bytes, places: list[tuple[str, int]] | None
) -> None:
    registry.on("/schemas/ids/7/versions", said)
    assert client(registry).places(7) == places
    assert client(registry).places(uuid.UUID(int=7)) is None


@pytest.mark.parametrize(
    "said", [{}, [1], [{"subject": 1, "version": 1}], [{"subject": "s", "version": 0}]]
)
def test_places_that_are_nonsense(registry: FakeRegistry, said: object) -> None:
    registry.on("/schemas/ids/7/versions", ok(said))
    with pytest.raises(RegistryError, match="not as a schema registry does"):
        client(registry).places(7)


BARE_404 = response(404, b"<html>", "text/html")


def test_a_404_without_an_error_code_for_one_id_of_a_registry(registry: FakeRegistry) -> None:
    """Apicurio's for some ids. A wrong path has no kinds of schemas either."""
    registry.on("/schemas/ids/7", BARE_404)
    with pytest.raises(UnknownPathError, match="check the path in"):
        client(registry).schema_of_id(7)
    registry.on("/schemas/types", ok(["AVRO"]))
    with pytest.raises(NotFoundError, match=r"^schema id 7: the registry responded with 404, "):
        client(registry).schema_of_id(7)
    registry.on("/schemas/types", BARE_404)
    with pytest.raises(NotFoundError):  # it is known by now
        client(registry).schema_of_id(7)
    assert registry.targets.count("/schemas/types") == 2


def test_a_404_without_an_error_code_after_another_id(registry: FakeRegistry) -> None:
    registry.on("/schemas/ids/8", ok(body('"int"')))
    registry.on("/schemas/ids/7", BARE_404)
    client(registry).schema_of_id(8)
    with pytest.raises(NotFoundError):
        client(registry).schema_of_id(7)
    assert registry.targets == ["/schemas/ids/8", "/schemas/ids/7"]


def test_a_registry_without_guids_has_no_schema_with_one(registry: FakeRegistry) -> None:
    """Apicurio's, and Confluent's before 8.1. Any payload that begins with the byte 1 asks them."""
    guids = f"/schemas/guids/{GUID}"
    registry.on(guids, response(404, b'{"error_code":0,"message":"RESTEASY003210"}'))
    with pytest.raises(UnknownPathError, match="check the path in"):
        client(registry).schema_of_guid(GUID)
    registry.on("/schemas/types", ok(["AVRO"]))
    with pytest.raises(NotFoundError, match=rf"^schema GUID {GUID}: .* or no GUIDs"):
        client(registry).schema_of_guid(GUID)
    registry.on(guids, error(404, 40403))
    with pytest.raises(NotFoundError, match="responded with 404"):
        client(registry).schema_of_guid(GUID)


def test_a_404_without_an_error_code_for_a_reference(registry: FakeRegistry) -> None:
    registry.on("/schemas/ids/7", ok(body("root", "a")))
    registry.on("/subjects/a/versions/1?deleted=true", BARE_404)
    registry.on("/schemas/types", ok(["AVRO"]))
    with pytest.raises(UnknownPathError, match="reference 'a' to subject 'a'"):
        client(registry).schema_of_id(7)


def test_dependencies_of_dependencies(registry: FakeRegistry) -> None:
    registry.on("/schemas/ids/7", ok(body("root", "a", "b")))
    registry.on("/subjects/a/versions/1?deleted=true", version_body("a", "A", "c"))
    registry.on("/subjects/b/versions/1?deleted=true", version_body("b", "B", "c"))
    registry.on("/subjects/c/versions/1?deleted=true", version_body("c", "C"))
    found = client(registry).schema_of_id(7)
    assert found.references == (Reference("a", "a", 1), Reference("b", "b", 1))
    assert found.dependencies == (("c", "C"), ("a", "A"), ("b", "B"))
    assert len(registry.requests) == 4


def test_a_reference_that_does_not_exist_is_named(registry: FakeRegistry) -> None:
    registry.on("/schemas/ids/7", ok(body("root", "a/b")))
    registry.on("/subjects/a%2Fb/versions/1?deleted=true", error(404, 40402))
    reason = r"^schema id 7, reference 'a/b' to subject 'a/b', version 1: http.*404 .*40402"
    with pytest.raises(NotFoundError, match=reason):
        client(registry).schema_of_id(7)


def test_versions_are_asked_each_time(registry: FakeRegistry) -> None:
    registry.on("/subjects/s/versions", ok([1, 3]))
    latest = body('"long"', subject="s", version=3, id=7)
    registry.on("/subjects/s/versions/latest", ok(latest), ok(latest | {"version": 4, "id": 9}))
    registry.on("/subjects/s/versions/3", ok(latest))
    asking = client(registry)
    assert asking.versions("s") == [1, 3]
    schema = RegisteredSchema(7, "AVRO", '"long"')
    assert asking.version("s", 3) == SubjectVersion("s", 3, schema)
    assert asking.version("s", "latest") == SubjectVersion("s", 3, schema)
    assert asking.version("s", "latest").version == 4


def test_the_latest_version_with_metadata(registry: FakeRegistry) -> None:
    path = "/subjects/a%2Fb/metadata?key=app+version&value=1%262&key=env&value=x"
    registry.on(path, version_body("a/b", '"long"'))
    metadata = [("app version", "1&2"), ("env", "x")]
    assert client(registry).version_with_metadata("a/b", metadata).schema.text == '"long"'
    registry.on(path, error(404, 40402))
    with pytest.raises(NotFoundError, match=r"^subject 'a/b', latest version with app version=1&2"):
        client(registry).version_with_metadata("a/b", metadata)


@pytest.mark.parametrize(
    ("subject", "path"),
    [
        ("a/b", "a%2Fb"),
        ("ü ?#%", "%C3%BC%20%3F%23%25"),
        (":.ctx:s", "%3A.ctx%3As"),
        ("a\r\nX: y", "a%0D%0AX%3A%20y"),
    ],
)
def test_subjects_are_quoted(registry: FakeRegistry, subject: str, path: str) -> None:
    registry.on(f"/subjects/{path}/versions", ok([1]))
    assert client(registry).versions(subject) == [1]


def test_a_subject_that_cannot_be_sent(registry: FakeRegistry) -> None:
    with pytest.raises(RegistryError, match=r"'\\ud800' has a character that UTF-8 cannot encode"):
        client(registry).versions("\ud800")


def test_a_context_has_its_own_ids(registry: FakeRegistry) -> None:
    """In Confluent's registry an id has another meaning in each context."""
    registry.on(
        "/subjects/%3A.ctx%3As/versions/1",
        ok(body('"int"', subject=":.ctx:s", version=1, id=7)),
    )
    registry.on("/schemas/ids/7", ok(body('"long"')))
    assert client(registry).version(":.ctx:s", 1).schema.text == '"int"'
    assert client(registry).schema_of_id(7).text == '"long"'


def test_a_look_up(registry: FakeRegistry) -> None:
    found = ok(body('"long"', subject="s", version=2, id=7))
    registry.on("/subjects/s?normalize=false", found)
    registry.on("/subjects/s?normalize=true", error(404, 40403), error(404, 40401))
    asking = client(registry)
    expected = SubjectVersion("s", 2, RegisteredSchema(7, "AVRO", '"long"'))
    assert asking.look_up("s", LONG) == expected
    assert asking.look_up("s", LONG, normalize=True) is None
    assert asking.look_up("s", LONG, normalize=True) is None
    assert registry.requests[0].body == {"schema": '"long"'}


def test_a_registration(registry: FakeRegistry) -> None:
    registry.on("/subjects/s/versions?normalize=false", ok({"id": 7}))
    registry.on("/subjects/s/versions?normalize=true", ok({"id": 8}))
    schema = NewSchema("JSON", "{}", (Reference("n", "r", 2),))
    assert client(registry).register("s", schema) == 7
    assert client(registry).register("s", schema, normalize=True) == 8
    assert registry.requests[0].method == "POST"
    assert registry.requests[0].body == {
        "schema": "{}",
        "schemaType": "JSON",
        "references": [{"name": "n", "subject": "r", "version": 2}],
    }


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (error(409, 409, "READER_FIELD_MISSING"), "409: READER_FIELD_MISSING.*incompatible with"),
        (error(422, 42201, "no Avro"), "42201: no Avro.*does not accept this schema"),
    ],
    ids=["incompatible", "invalid"],
)
def test_a_refused_registration(registry: FakeRegistry, reply: bytes, reason: str) -> None:
    registry.on("/subjects/s/versions?normalize=false", reply)
    with pytest.raises(
        RegistryError, match=rf"^registration of a schema in subject 's': .*{reason}"
    ):
        client(registry).register("s", LONG)
    assert len(registry.requests) == 1


@pytest.mark.parametrize(
    ("reply", "messages"),
    [
        (ok({"is_compatible": True}), []),
        (ok({"is_compatible": False, "messages": ["a", "b"]}), ["a", "b"]),
        (error(404, 40401), []),
    ],
    ids=["compatible", "incompatible", "no subject"],
)
def test_incompatibilities(registry: FakeRegistry, reply: bytes, messages: list[str]) -> None:
    registry.on("/compatibility/subjects/s/versions?verbose=true", reply)
    assert client(registry).incompatibilities("s", LONG) == messages


def test_reasons_of_incompatibility_are_clean_and_short(registry: FakeRegistry) -> None:
    said = {"is_compatible": False, "messages": [f"{PASSWORD}\x1b" + "x" * 10_000] * 1_000}
    registry.on("/compatibility/subjects/s/versions?verbose=true", ok(said))
    messages = client(registry, user_info=Secret(f"u:{PASSWORD}")).incompatibilities("s", LONG)
    assert len(messages) <= 100
    assert all(message.startswith("***?xxx") and len(message) <= 1_003 for message in messages)


ASKING: list[Callable[[RegistryClient], object]] = [
    lambda asked: asked.schema_of_id(7),
    lambda asked: asked.schema_of_guid(GUID),
    lambda asked: asked.versions("s"),
    lambda asked: asked.version("s", "latest"),
    lambda asked: asked.look_up("s", LONG),
    lambda asked: asked.register("s", LONG),
    lambda asked: asked.incompatibilities("s", LONG),
]


@pytest.mark.parametrize("ask", ASKING)
@pytest.mark.parametrize(
    "reply",
    [response(200, b"<html>login"), ok("no"), error(403, 40301), error(404, 404)],
    ids=["HTML", "nonsense", "403", "404"],
)
def test_fault_63_whatever_is_requested_a_fault_is_an_error_without_secrets(
    registry: FakeRegistry, ask: Callable[[RegistryClient], object], reply: bytes
) -> None:
    asked = client(registry, user_info=Secret(f"u:{PASSWORD}"))
    for target in (
        "/schemas/ids/7",
        f"/schemas/guids/{GUID}",
        "/subjects/s/versions",
        "/subjects/s/versions/latest",
        "/subjects/s?normalize=false",
        "/subjects/s/versions?normalize=false",
        "/compatibility/subjects/s/versions?verbose=true",
    ):
        registry.on(target, reply)
    with pytest.raises(RegistryError) as caught:
        ask(asked)
    assert registry.url in str(caught.value)
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
    assert not isinstance(caught.value, NotFoundError)


def test_what_is_known_of_few_configurations_is_kept(registry: FakeRegistry) -> None:
    registry.on("/schemas/ids/7", ok(body('"long"')))
    for number in range(40):
        client(registry, max_retries=number).schema_of_id(7)
    client(registry, max_retries=39).schema_of_id(7)
    assert len(registry.requests) == 40
    client(registry, max_retries=0).schema_of_id(7)
    assert len(registry.requests) == 41


def test_schemas_travel_to_tasks() -> None:
    schema = RegisteredSchema(7, "AVRO", "root", (Reference("a", "a", 1),), (("a", "A"),))
    version = SubjectVersion("s", 1, schema)
    assert pickle.loads(pickle.dumps(version)) == version
