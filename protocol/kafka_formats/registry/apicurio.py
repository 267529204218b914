"""Schemas of Apicurio Registry by the ids of its own serializers, or by subject.

Ids are asked for at its own API, which gives schemas as they are. Subjects are asked for at the API
that is as Confluent's, at the same server. Its ids may have another meaning, so they are dropped.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, replace
from typing import Final, Literal

from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry.cache import cache_of
from kafka_formats.registry.client import RegistryClient
from kafka_formats.registry.config import PREFIX, RegistryConfig
from kafka_formats.registry.failover import Call, Exchange
from kafka_formats.registry.references import resolve
from kafka_formats.registry.refusals import missing_if_served
from kafka_formats.registry.responses import (
    SchemaBody,
    read_artifact_references,
    read_system,
    read_text,
)
from kafka_formats.registry.schemas import Metadata, Reference, RegisteredSchema, SubjectVersion
from kafka_protocol.errors import KafkaConfigError

_API: Final = re.compile(r"/apis/(?:(?P<registry>registry/v[23])|ccompat/v[0-9]{1,2})\Z")
# Where an API is if the URL leads to the other one.
_OWN: Final = "/apis/registry/v2"
_CONFLUENT: Final = "/apis/ccompat/v7"
# Versions of artifacts are at other paths from version 3 of the API on.
_CONTENT: Final = {"registry/v2": "", "registry/v3": "/content"}
_ANY: Final = "*/*"


@dataclass(frozen=True, slots=True)
class ApicurioConfig:
    """A registry of Apicurio's.

    Attributes:
        registry: How to connect; the URLs lead to one of its APIs.
        ids: What the ids of payloads are.
    """

    registry: RegistryConfig
    ids: Literal["globalIds", "contentIds"]


class ApicurioClient:
    """A client of one registry of Apicurio's, for one thread; a `SchemaSource`.

    Each method raises as the same one of `RegistryClient`, and KafkaConfigError for a URL that
    leads to no API of Apicurio's.
    """

    def __init__(self, config: ApicurioConfig) -> None:
        own, confluent, self._content = _apis(config.registry)
        self._ids = config.ids
        self._exchange = Exchange(own)
        self._by_subject = RegistryClient(confluent)
        self._cache = cache_of(config)

    def schema_of_id(self, schema_id: int) -> RegisteredSchema:
        """The schema with an id of the kind that payloads have."""
        about, path = f"schema {self._ids[:-1]} {schema_id}", f"/ids/{self._ids}/{schema_id}"

        def ask() -> RegisteredSchema:
            with missing_if_served(about, "it has no such schema", self._is_registry):
                body = self._body(about, path, "")
            texts = resolve(about, body.references, self._referenced)
            return RegisteredSchema(schema_id, *body, texts)

        return self._cache.by_id(schema_id, ask)

    def schema_of_guid(self, guid: uuid.UUID) -> RegisteredSchema:
        """Always an error: ids are numbers there."""
        raise NotFoundError(f"schema GUID {guid}: Apicurio's ids are numbers: give one")

    def version(self, subject: str, version: int | Literal["latest"]) -> SubjectVersion:
        """A version of an artifact of the default group, which may be the newest one."""
        known = self._by_subject.version(subject, version)
        return replace(known, schema=replace(known.schema, id=None))

    def version_with_metadata(self, subject: str, metadata: Metadata) -> SubjectVersion:  # noqa: ARG002
        """Always an error: the options refuse it before."""
        raise RegistryError(f"subject {subject!r}: Apicurio finds no version by metadata")

    def subjects(self) -> list[str]:
        """The names of all artifacts."""
        return self._by_subject.subjects()

    def versions(self, subject: str) -> list[int]:
        """The versions of an artifact."""
        return self._by_subject.versions(subject)

    def places(self, schema_id: int | uuid.UUID) -> None:  # noqa: ARG002
        """None: the name of the artifact is not asked for."""
        return

    def _body(self, about: str, path: str, content: str) -> SchemaBody:
        """The schema at a path, with its references beside it."""
        text = self._exchange.content_of(Call(about, path + content, accept=_ANY), read_text)
        call = Call(f"{about}, its references", f"{path}/references")
        return SchemaBody("", text, self._exchange.response_to(call, read_artifact_references))

    def _referenced(self, reference: Reference) -> SchemaBody:
        about = f"reference {reference.name!r} to {reference.subject}, version {reference.version}"
        path = f"/{reference.subject}/versions/{reference.version}"
        return self._cache.by_version(
            reference.subject, reference.version, lambda: self._body(about, path, self._content)
        )

    def _is_registry(self) -> bool:
        return self._cache.is_registry(self._serves_system)

    def _serves_system(self) -> bool:
        try:
            self._exchange.response_to(Call("the registry's name", "/system/info"), read_system)
        except RegistryError:
            return False
        return True


def _apis(config: RegistryConfig) -> tuple[RegistryConfig, RegistryConfig, str]:
    """The configurations of Apicurio's own API and of Confluent's, and the path of contents.

    Raises:
        KafkaConfigError: A URL leads to no API, or several lead to different ones.
    """
    matches = [_API.search(url) for url in config.urls]
    if None in matches or len({each and each[0] for each in matches}) > 1:
        raise KafkaConfigError(
            f"Option '{PREFIX}url' must end with {_OWN}, /apis/registry/v3 or {_CONFLUENT} for "
            "Apicurio's framing, each of several URLs with the same."
        )
    given = matches[0]["registry"] if matches[0] else None
    own = _OWN if given is None else f"/apis/{given}"
    servers = [_API.sub("", url) for url in config.urls]
    confluent = config.urls if given is None else tuple(each + _CONFLUENT for each in servers)
    return (
        replace(config, urls=tuple(each + own for each in servers)),
        replace(config, urls=confluent),
        _CONTENT[own.removeprefix("/apis/")],
    )
