"""Schemas of a registry by id, GUID or subject; look-ups, registrations and comparisons."""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

from kafka_formats.errors import (
    ForbiddenError,
    NotFoundError,
    RefusedRequestError,
    RegistryError,
    UnknownPathError,
)
from kafka_formats.registry.cache import cache_of
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.failover import Call, Exchange
from kafka_formats.registry.references import resolve
from kafka_formats.registry.refusals import missing_if_served
from kafka_formats.registry.responses import (
    SchemaBody,
    VersionBody,
    read_compatibility,
    read_id,
    read_places,
    read_schema,
    read_subjects,
    read_types,
    read_version,
    read_versions,
)
from kafka_formats.registry.schemas import (
    Metadata,
    NewSchema,
    Place,
    Reference,
    RegisteredSchema,
    SubjectVersion,
)

_MAX_REASONS: Final = 100


class RegistryClient:
    """A client of one schema registry, for one thread.

    Each method raises NotFoundError if its subject or schema does not exist, another RegistryError
    if the registry cannot be reached, refuses or returns nonsense, and KafkaConfigError if a file
    of the TLS options cannot be used. It may take `request.timeout.ms` and a pause for each of
    `max.retries` and one more.
    """

    def __init__(self, config: RegistryConfig) -> None:
        self._exchange = Exchange(config)
        self._cache = cache_of(config)

    def schema_of_id(self, schema_id: int) -> RegisteredSchema:
        """The schema with an id, which payloads have in front."""
        call = Call(f"schema id {schema_id}", f"/schemas/ids/{schema_id}")
        return self._cache.by_id(schema_id, partial(self._with_id, call, schema_id))

    def schema_of_guid(self, guid: uuid.UUID) -> RegisteredSchema:
        """The schema with a GUID, which records have in a header (Confluent, from 8.1 on)."""
        call = Call(f"schema GUID {guid}", f"/schemas/guids/{guid}")
        return self._cache.by_id(guid, partial(self._with_guid, call))

    def version(self, subject: str, version: int | Literal["latest"]) -> SubjectVersion:
        """A version of a subject, which may be the newest one."""
        about = f"subject {subject!r}, version {version}"
        path = f"/subjects/{_quoted(subject)}/versions/{version}"

        def ask() -> SubjectVersion:
            return self._chosen(self._exchange.response_to(Call(about, path), read_version), about)

        return ask() if version == "latest" else self._cache.of_version(subject, version, ask)

    def version_with_metadata(self, subject: str, metadata: Metadata) -> SubjectVersion:
        """The newest version of a subject with these properties in its metadata (Confluent's)."""
        named = ", ".join(f"{name}={value}" for name, value in metadata)
        query = "&".join(urlencode({"key": name, "value": value}) for name, value in metadata)
        call = Call(
            f"subject {subject!r}, latest version with {named}",
            f"/subjects/{_quoted(subject)}/metadata?{query}",
        )
        return self._chosen(self._exchange.response_to(call, read_version), call.about)

    def subjects(self) -> list[str]:
        """The names of all subjects that are not deleted."""
        return self._exchange.response_to(Call("list of subjects", "/subjects"), read_subjects)

    def versions(self, subject: str) -> list[int]:
        """The versions of a subject that are not deleted."""
        path = f"/subjects/{_quoted(subject)}/versions"
        return self._exchange.response_to(Call(f"subject {subject!r}", path), read_versions)

    def places(self, schema_id: int | uuid.UUID) -> Sequence[Place] | None:
        """The versions of subjects with this schema; None if the registry does not list them.

        Registries list them for ids, not for GUIDs: Confluent's from 5.5 on, and Apicurio.
        """
        if isinstance(schema_id, uuid.UUID):
            return None
        call = Call(
            f"versions with the schema id {schema_id}", f"/schemas/ids/{schema_id}/versions"
        )
        try:
            return self._exchange.response_to(call, read_places)
        except NotFoundError:
            return []
        except (ForbiddenError, UnknownPathError):
            return None

    def look_up(
        self, subject: str, schema: NewSchema, *, normalize: bool = False
    ) -> SubjectVersion | None:
        """The version of a subject that is this schema; None if there is none.

        With `normalize` the registry ignores differences that mean nothing, such as the order of
        attributes.
        """
        about = f"look-up of a schema in subject {subject!r}"
        path = f"/subjects/{_quoted(subject)}?normalize={str(normalize).lower()}"
        try:
            body = self._exchange.response_to(Call(about, path, _json_of(schema)), read_version)
        except NotFoundError:
            return None
        return self._subject_version(about, body)

    def register(self, subject: str, schema: NewSchema, *, normalize: bool = False) -> int:
        """Make a schema the newest version of a subject, if it is a new one, and return its id."""
        about = f"registration of a schema in subject {subject!r}"
        path = f"/subjects/{_quoted(subject)}/versions?normalize={str(normalize).lower()}"
        return self._exchange.response_to(Call(about, path, _json_of(schema)), read_id)

    def incompatibilities(self, subject: str, schema: NewSchema) -> list[str]:
        """Why a schema is incompatible with versions of a subject, as the registry says.

        Empty if it is compatible, or if the subject does not exist.
        """
        about = f"compatibility with subject {subject!r}"
        path = f"/compatibility/subjects/{_quoted(subject)}/versions?verbose=true"
        try:
            said = self._exchange.response_to(
                Call(about, path, _json_of(schema)), read_compatibility
            )
        except NotFoundError:
            return []
        return [self._exchange.cleaned(text) for text in said[:_MAX_REASONS]]

    def _with_id(self, call: Call, schema_id: int) -> RegisteredSchema:
        body = self._known(call, "it has no such schema")
        return self._registered(call.about, schema_id, self._with_descriptor(call, body))

    def _serves_types(self) -> bool:
        try:
            self._exchange.response_to(Call("kinds of schemas", "/schemas/types"), read_types)
        except RegistryError:
            return False
        return True

    def _with_guid(self, call: Call) -> RegisteredSchema:
        # Registries without GUIDs lack the path. Any payload that begins with the byte 1 asks for
        # it, and must not end a read of the others.
        body = self._known(
            call, "it has no such schema, or no GUIDs, which Confluent's has from 8.1 on"
        )
        return self._registered(call.about, None, self._with_descriptor(call, body))

    def _known(self, call: Call, otherwise: str) -> SchemaBody:
        """The schema that a path names. A 404 without an error code may be that of a wrong URL."""
        with missing_if_served(call.about, otherwise, self._is_registry):
            return self._exchange.response_to(call, read_schema)

    def _is_registry(self) -> bool:
        return self._cache.is_registry(self._serves_types)

    def _chosen(self, body: VersionBody, about: str) -> SubjectVersion:
        """The version that a registry chose. Its descriptor is asked for by its number."""
        call = Call(about, f"/subjects/{_quoted(body.subject)}/versions/{body.version}")
        return self._subject_version(
            about, body._replace(schema=self._with_descriptor(call, body.schema))
        )

    def _with_descriptor(self, call: Call, body: SchemaBody) -> SchemaBody:
        """A schema of Protobuf as its descriptor, if the registry gives it, as Confluent's does.

        So nothing has to compile a text of others. Registries that do not know the parameter ignore
        it.
        """
        if body.kind != "PROTOBUF" or _is_base64(body.text) or not self._cache.gives_descriptors:
            return body
        joint = "&" if "?" in call.path else "?"
        call = call._replace(path=f"{call.path}{joint}format=serialized")
        try:
            described = self._exchange.response_to(call, read_schema)
        except RefusedRequestError:
            described = body
        self._cache.gives_descriptors = _is_base64(described.text)
        return body._replace(text=described.text) if self._cache.gives_descriptors else body

    def _subject_version(self, about: str, body: VersionBody) -> SubjectVersion:
        # Not kept by its id, which has another meaning in each of Confluent's contexts.
        schema = self._registered(about, body.schema_id, body.schema)
        return SubjectVersion(body.subject, body.version, schema)

    def _registered(self, about: str, schema_id: int | None, body: SchemaBody) -> RegisteredSchema:
        """The schema with all that it refers to."""
        dependencies = resolve(about, body.references, partial(self._referenced, about))
        return RegisteredSchema(schema_id, *body, dependencies)

    def _referenced(self, about: str, reference: Reference) -> SchemaBody:
        """The schema of a reference, even if it was deleted after it was referred to."""
        about = (
            f"{about}, reference {reference.name!r} to subject {reference.subject!r}, version "
            f"{reference.version}"
        )
        path = f"/subjects/{_quoted(reference.subject)}/versions/{reference.version}"
        call = Call(about, f"{path}?deleted=true")
        return self._cache.by_version(
            reference.subject,
            reference.version,
            lambda: self._with_descriptor(
                call, self._exchange.response_to(call, read_version).schema
            ),
        )


def _is_base64(text: str) -> bool:
    """Whether a schema is a descriptor; no `.proto` text is valid Base64."""
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _quoted(subject: str) -> str:
    """A subject in a path. Its slashes are quoted, too."""
    try:
        return quote(subject, safe="")
    except UnicodeEncodeError:
        raise RegistryError(
            f"subject {subject!r} has a character that UTF-8 cannot encode"
        ) from None


def _json_of(schema: NewSchema) -> dict[str, Any]:
    # Old registries do not know the type of Avro's schemas.
    kind = {} if schema.kind == "AVRO" else {"schemaType": schema.kind}
    references = [
        {"name": each.name, "subject": each.subject, "version": each.version}
        for each in schema.references
    ]
    return {"schema": schema.text, **kind, **({"references": references} if references else {})}
