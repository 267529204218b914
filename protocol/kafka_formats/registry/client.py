"""The schemas of a registry: by id, by subject and version, and registering them.

Schemas are kept for ever by id, which never changes its schema; one cache for a process, because
Spark uses a worker for many tasks.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.requests import Call, call
from kafka_protocol.auth.mechanism import shown

T = TypeVar("T")

_AVRO: Final = "AVRO"
_MAX_REFERENCES: Final = 200


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema of a registry.

    Attributes:
        id: Names it in frames.
        kind: AVRO, PROTOBUF or JSON.
        text: In the language of its kind.
        dependencies: Name and text of all schemas that it refers to, dependencies before those
            that need them.
    """

    id: int
    kind: str
    text: str
    dependencies: tuple[tuple[str, str], ...] = ()


class SubjectVersion(NamedTuple):
    """A version of a subject."""

    subject: str
    version: int
    schema: RegisteredSchema


_cache: dict[tuple[RegistryConfig, int | uuid.UUID], RegisteredSchema] = {}


class RegistryClient:
    """Requests of one registry.

    Methods raise RegistryError if it refuses or cannot be reached.
    """

    def __init__(self, config: RegistryConfig) -> None:
        self._config = config

    def schema_of_id(self, schema_id: int) -> RegisteredSchema:
        """The schema with an id.

        Raises:
            NotFoundError: There is none.
        """
        return self._cached(schema_id, f"/schemas/ids/{schema_id}", f"the schema id {schema_id}")

    def schema_of_guid(self, guid: uuid.UUID) -> RegisteredSchema:
        """The schema with a GUID, which newer frames have in place of an id.

        Raises:
            NotFoundError: There is none.
        """
        return self._cached(guid, f"/schemas/guids/{guid}", f"the schema with the GUID {guid}")

    def versions(self, subject: str) -> list[int]:
        """The versions of a subject, ascending.

        Raises:
            NotFoundError: There is no such subject.
        """
        path = f"/subjects/{quote(subject, safe='')}/versions"
        what = f"the versions of the subject {subject!r}"
        found = call(self._config, Call("GET", path, what))
        if not isinstance(found, list) or not all(type(each) is int for each in found):
            raise self._nonsense(what, found)
        return sorted(found)

    def version(self, subject: str, version: int | None) -> SubjectVersion:
        """A version of a subject; None for the latest.

        Raises:
            NotFoundError: There is no such subject or version.
        """
        what = f"version {version or 'latest'} of the subject {subject!r}"
        values = self._version(subject, version, what)
        number = self._value(values, "version", int, what)
        return SubjectVersion(subject, number, self._schema(values, what, None))

    def look_up(self, subject: str, kind: str, text: str) -> int | None:
        """The id of a schema in a subject; None if it is not registered there."""
        path = f"/subjects/{quote(subject, safe='')}"
        what = f"the id of the schema in the subject {subject!r}"
        body = {"schema": text, "schemaType": kind}
        try:
            values = call(self._config, Call("POST", path, what, body))
        except NotFoundError:
            return None
        return self._value(values, "id", int, what)

    def register(self, subject: str, kind: str, text: str) -> int:
        """Register a schema in a subject, and return its id.

        Raises:
            RegistryError: It is invalid, or not compatible with the subject's other versions.
        """
        path = f"/subjects/{quote(subject, safe='')}/versions"
        what = f"the registration of a schema in the subject {subject!r}"
        body = {"schema": text, "schemaType": kind}
        return self._value(call(self._config, Call("POST", path, what, body)), "id", int, what)

    def _cached(self, key: int | uuid.UUID, path: str, what: str) -> RegisteredSchema:
        found = _cache.get((self._config, key))
        if found is None:
            schema_id = key if isinstance(key, int) else None
            found = self._schema(call(self._config, Call("GET", path, what)), what, schema_id)
            _cache[self._config, key] = found
        return found

    def _version(self, subject: str, version: int | None, what: str) -> Any:
        # Schemas may refer to versions that were deleted since.
        wanted = "latest" if version is None else f"{version}?deleted=true"
        path = f"/subjects/{quote(subject, safe='')}/versions/{wanted}"
        return call(self._config, Call("GET", path, what))

    def _schema(self, values: Any, what: str, schema_id: int | None) -> RegisteredSchema:
        kind = self._value(values, "schemaType", str, what, _AVRO)
        text = self._value(values, "schema", str, what)
        # A response to the request of an id does not repeat it.
        found_id = schema_id if schema_id is not None else self._value(values, "id", int, what, -1)
        dependencies = _References(self, what)
        dependencies.add(values)
        return RegisteredSchema(found_id, kind, text, tuple(dependencies.found))

    def _value(
        self, values: Any, key: str, kind: type[T], what: str, default: T | None = None
    ) -> T:
        found = values.get(key) if isinstance(values, dict) else None
        found = default if found is None and isinstance(values, dict) else found
        if type(found) is not kind:
            raise self._nonsense(what, values)
        return found

    def _nonsense(self, what: str, found: object) -> RegistryError:
        return RegistryError(
            f"The schema registry at {self._config.urls[0]} responded to the request for {what} "
            f"with JSON that does not belong there: {shown(str(found))}"
        )


@dataclass
class _References:
    """The schemas that one refers to, each after those that it needs itself."""

    client: RegistryClient
    what: str
    found: list[tuple[str, str]] = field(default_factory=list)
    _open: list[tuple[str, int]] = field(default_factory=list)
    _done: set[tuple[str, int]] = field(default_factory=set)

    def add(self, values: Any) -> None:
        """Add those of a schema in a response."""
        for each in self._listed(values):
            value = self.client._value
            name = value(each, "name", str, self.what)
            key = value(each, "subject", str, self.what), value(each, "version", int, self.what)
            if key in self._open:
                loop = " -> ".join(subject for subject, _ in [*self._open, key])
                raise RegistryError(f"The references of {self.what} go in a circle: {shown(loop)}")
            if key in self._done:
                continue
            if len(self._done) + len(self._open) >= _MAX_REFERENCES:
                raise RegistryError(f"{self.what} has more than {_MAX_REFERENCES} references")
            self._open.append(key)
            subject, version = key
            what = f"version {version} of the subject {subject!r}, to which {self.what} refers"
            referred = self.client._version(subject, version, what)
            self.add(referred)
            self._open.pop()
            self._done.add(key)
            self.found.append((name, value(referred, "schema", str, what)))

    def _listed(self, values: Any) -> Sequence[Any]:
        return self.client._value(values, "references", list, self.what, [])
