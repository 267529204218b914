"""Every declaration, compared with Kafka's own schemas field by field and version by version.

The schemas are in the `kafka-clients` jar of the current release; those of the versions that it
removed are in the jar of an older release.
"""

from __future__ import annotations

import difflib
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kafka_protocol.wire.schema import (
    ALL_VERSIONS,
    Message,
    Request,
    Struct,
    StructMeta,
    VersionRange,
    default_of,
    describe,
    parse_versions,
)
from tests.protocol.catalogue import MESSAGES, REQUESTS, RESPONSES, name_of, versions_of
from tests.protocol.kafka_jar import BEFORE_4, CURRENT, KafkaJar

pytestmark = pytest.mark.no_cover

JarOf = Callable[[str], KafkaJar]
Json = dict[str, Any]


class Row(NamedTuple):
    """A field of a message or of a struct in it."""

    path: str
    wire_type: str
    versions: VersionRange
    nullable: VersionRange
    tagged: VersionRange
    tag: int | None
    default: str
    ignorable: bool

    def line(self, version: int) -> str:
        """The field in one version, as text to compare."""
        nullable = " nullable" if version in self.nullable else ""
        tag = f" tag={self.tag}" if version in self.tagged else ""
        return f"{self.path}: {self.wire_type}{nullable}{tag} default={self.default}"


def lines(rows: list[Row], version: int) -> list[str]:
    return [row.line(version) for row in rows if version in row.versions]


# --- Our declarations --------------------------------------------------------------------------


def our_rows(
    cls: StructMeta, path: str = "", parent_versions: VersionRange = ALL_VERSIONS
) -> Iterator[Row]:
    for declared in cls.__fields__:
        wire_type, struct = spell(declared.wire_type)
        name = path + declared.name
        versions = declared.versions.intersection(parent_versions)
        yield Row(
            path=name,
            wire_type=wire_type,
            versions=versions,
            nullable=declared.nullable,
            tagged=parse_versions("none") if declared.tag is None else versions,
            tag=declared.tag,
            default=spell_default(default_of(declared)),
            ignorable=declared.ignorable,
        )
        if struct is not None:
            yield from our_rows(struct, f"{name}.", versions)


def spell(wire_type: Any) -> tuple[str, StructMeta | None]:
    """The type as Kafka's schemas spell it, and the struct in it."""
    shape = describe(wire_type)
    if shape.element is not None:
        inner, struct = spell(shape.element)
        return f"[]{inner}", struct
    if shape.struct is not None:
        return shape.struct.__name__, shape.struct
    return str(shape.primitive), None


def spell_default(value: Any) -> str:
    return "{}" if isinstance(value, Struct) else repr(value)


# --- Kafka's schemas ---------------------------------------------------------------------------


def kafka_rows(schema: Json) -> list[Row]:
    # Shared structs are declared separately, by name.
    shared = {struct["name"]: struct["fields"] for struct in schema.get("commonStructs", [])}
    return list(_kafka_rows(schema["fields"], shared, "", ALL_VERSIONS))


def _kafka_rows(
    fields: list[Json], shared: dict[str, list[Json]], path: str, parent_versions: VersionRange
) -> Iterator[Row]:
    for declared in fields:
        assert "flexibleVersions" not in declared, "a field with a form of its own is not foreseen"
        kind: str = declared["type"]
        inner = declared.get("fields", shared.get(kind.removeprefix("[]")))
        name = path + snake_case(declared["name"])
        # A nested field's versions hold where its parent is there.
        versions = parse_versions(declared["versions"]).intersection(parent_versions)
        yield Row(
            path=name,
            wire_type=kind,
            versions=versions,
            nullable=parse_versions(declared.get("nullableVersions", "none")),
            tagged=parse_versions(declared.get("taggedVersions", "none")),
            tag=declared.get("tag"),
            default=kafka_default(kind, declared.get("default"), is_struct=inner is not None),
            ignorable=declared.get("ignorable") in (True, "true"),
        )
        yield from _kafka_rows(inner or [], shared, f"{name}.", versions)


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def kafka_default(kind: str, default: Any, *, is_struct: bool) -> str:
    """The default as in our declarations; Kafka's schemas may have numbers as text."""
    if default == "null":
        return "None"
    if kind.startswith("[]"):
        return "[]"
    if is_struct:
        return "{}"
    return repr(_ZERO[kind] if default is None else _PARSE[kind](str(default)))


_INTEGERS = ("int8", "int16", "uint16", "int32", "uint32", "int64")
_ZERO: dict[str, Any] = {
    **dict.fromkeys(_INTEGERS, 0),
    "bool": False,
    "float64": 0.0,
    "uuid": uuid.UUID(int=0),
    "string": "",
    "bytes": b"",
    "records": None,
}
_PARSE: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(_INTEGERS, lambda text: int(text, 0)),
    "bool": lambda text: text.lower() == "true",
    "float64": float,
    "string": str,
}


# --- The comparison ----------------------------------------------------------------------------


def assert_same(ours: list[str], theirs: list[str], jar: KafkaJar) -> None:
    diff = difflib.unified_diff(theirs, ours, repr(jar), "our declaration", lineterm="", n=1)
    if ours != theirs:
        pytest.fail("\n".join(diff), pytrace=False)


@pytest.mark.parametrize("cls", MESSAGES, ids=name_of)
def test_fields(cls: type[Message], kafka_jar: JarOf) -> None:
    current, ours = kafka_jar(CURRENT), list(our_rows(cls))
    for version in versions_of(cls):
        jar = current if version in current.stable_versions(cls) else kafka_jar(BEFORE_4)
        theirs = kafka_rows(jar.schema(cls.__name__))
        assert_same(lines(ours, version), lines(theirs, version), jar)


# A field's name in the older jar that the current one changed; the bytes are the same.
RENAMED = {("TxnOffsetCommitRequest", "generation_id")}


@pytest.mark.parametrize("cls", MESSAGES, ids=name_of)
def test_ignorable_fields(cls: type[Message], kafka_jar: JarOf) -> None:
    # It applies to the versions without the field, so it is compared for the whole message.
    def ignorable(rows: list[Row]) -> dict[str, bool]:
        return {
            row.path: row.ignorable
            for row in rows
            if not row.versions.intersection(cls.versions).is_empty
        }

    ours = ignorable(list(our_rows(cls)))
    theirs: dict[str, bool] = {}
    for jar in (kafka_jar(BEFORE_4), kafka_jar(CURRENT)):
        if not jar.stable_versions(cls).is_empty:
            theirs |= ignorable(kafka_rows(jar.schema(cls.__name__)))
    assert ours == {p: flag for p, flag in theirs.items() if (cls.__name__, p) not in RENAMED}


# APIs of only one of the two releases: those of a cluster with ZooKeeper, and new ones.
REMOVED = {"LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown"}
NEW = {"ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch", "ShareAcknowledge"}
NOT_IN = {CURRENT: REMOVED, BEFORE_4: NEW | {"ListConfigResources"}}
# Version 0 of these was removed before it was stable (KIP-932).
FIRST_STABLE = dict.fromkeys(NEW, 1)


@pytest.mark.parametrize("cls", MESSAGES, ids=name_of)
def test_versions_reach_from_0_to_the_newest_stable_one(
    cls: type[Message], kafka_jar: JarOf
) -> None:
    stable = {release: kafka_jar(release).stable_versions(cls) for release in (CURRENT, BEFORE_4)}
    for release, versions in stable.items():
        assert versions.is_empty == (cls.api_name in NOT_IN[release])
    there = [versions for versions in stable.values() if not versions.is_empty]
    assert cls.versions == VersionRange(
        FIRST_STABLE.get(cls.api_name, 0), max(versions.highest for versions in there)
    )
    assert cls.versions.lowest == min(versions.lowest for versions in there)


@pytest.mark.parametrize("cls", MESSAGES, ids=name_of)
@pytest.mark.parametrize("release", [CURRENT, BEFORE_4])
def test_api_key_and_flexible_versions(cls: type[Message], release: str, kafka_jar: JarOf) -> None:
    if cls.api_name in NOT_IN[release]:
        return  # held by the other release
    schema = kafka_jar(release).schema(cls.__name__)
    assert schema["apiKey"] == cls.api_key
    assert schema["type"] == ("request" if issubclass(cls, Request) else "response")
    assert parse_versions(schema["flexibleVersions"]) == cls.flexible


@pytest.mark.parametrize("cls", MESSAGES, ids=name_of)
def test_every_field_is_in_a_declared_version(cls: type[Message]) -> None:
    # Fields of other versions may share a struct, so check each use of it.
    places = {
        row.path: not row.versions.intersection(cls.versions).is_empty for row in our_rows(cls)
    }
    somewhere = {path.rpartition(".")[2] for path, is_there in places.items() if is_there}
    assert {path.rpartition(".")[2] for path in places} == somewhere


def test_each_request_has_its_response() -> None:
    assert {cls.response for cls in REQUESTS} == set(RESPONSES)
    for cls in REQUESTS:
        assert cls.response.__name__ == f"{cls.api_name}Response"
        assert cls.response.api_key == cls.api_key
        assert cls.response.versions == cls.versions
        assert cls.response.flexible == cls.flexible
