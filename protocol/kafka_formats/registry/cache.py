"""Facts from registries that never change, kept as long as the process lives.

Ids, GUIDs and versions never change their meaning, so the next task in a reused Python worker does
not ask for them again. Configurations are the keys: one may see schemas that another may not.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Final, NamedTuple

from kafka_formats.errors import NotFoundError
from kafka_formats.registry.responses import SchemaBody
from kafka_formats.registry.schemas import RegisteredSchema, SubjectVersion
from kafka_protocol.client.clock import Deadline

# As many configurations as `kafka_protocol.client.pool` keeps.
MAX_CONFIGURATIONS: Final = 16
_FIRST_WAIT_MS: Final = 200.0
_MAX_WAIT_MS: Final = 60_000.0
_MOST_MISSING: Final = 10_000


class _Missing(NamedTuple):
    """An id that a registry does not have.

    Attributes:
        wait_ms: The wait before the next request for it.
        deadline: When the next request may be made.
        reason: The registry's error.
    """

    wait_ms: float
    deadline: Deadline
    reason: str


class _MissingIds:
    """The ids that a registry did not have a moment ago: many payloads may name them.

    Registries have followers, which may know an id later than its writer: so the first moment is
    short, and each further one is longer.
    """

    def __init__(self) -> None:
        self._missing: dict[int | uuid.UUID, _Missing] = {}

    def add(self, schema_id: int | uuid.UUID, reason: str) -> None:
        """Keep the answer of the registry for a while."""
        if len(self._missing) >= _MOST_MISSING:
            self._missing.clear()
        before = self._missing.get(schema_id)
        wait_ms = _FIRST_WAIT_MS if before is None else min(4 * before.wait_ms, _MAX_WAIT_MS)
        self._missing[schema_id] = _Missing(wait_ms, Deadline.after(wait_ms), reason)

    def check(self, schema_id: int | uuid.UUID) -> None:
        """Raise NotFoundError if the id was missing a moment ago."""
        known = self._missing.get(schema_id)
        if known is not None and known.deadline.remaining_ms > 0:
            raise NotFoundError(known.reason)


class RegistryCache:
    """The known schemas of one registry."""

    def __init__(self) -> None:
        self._by_id: dict[int | uuid.UUID, RegisteredSchema] = {}
        self._by_version: dict[tuple[str, int], SchemaBody] = {}
        self._versions: dict[tuple[str, int], SubjectVersion] = {}
        self._missing = _MissingIds()
        self._is_registry = False
        self.gives_descriptors = True
        """Whether the registry has to be asked for descriptors of Protobuf; until it gave none."""

    def by_id(
        self, schema_id: int | uuid.UUID, ask: Callable[[], RegisteredSchema]
    ) -> RegisteredSchema:
        """The schema with an id or a GUID; `ask` is called for an unknown one.

        Raises:
            NotFoundError: There is none, or there was none a moment ago.
        """
        schema = self._by_id.get(schema_id)
        if schema is None:
            self._missing.check(schema_id)
            try:
                schema = self._by_id[schema_id] = ask()
            except NotFoundError as error:
                self._missing.add(schema_id, str(error))
                raise
        return schema

    def by_version(self, subject: str, version: int, ask: Callable[[], SchemaBody]) -> SchemaBody:
        """The schema of a version of a subject; `ask` is called for an unknown one."""
        schema = self._by_version.get((subject, version))
        if schema is None:
            schema = self._by_version[subject, version] = ask()
        return schema

    def of_version(
        self, subject: str, version: int, ask: Callable[[], SubjectVersion]
    ) -> SubjectVersion:
        """A version of a subject with all that it refers to; `ask` is called for an unknown one."""
        known = self._versions.get((subject, version))
        if known is None:
            known = self._versions[subject, version] = ask()
        return known

    def is_registry(self, ask: Callable[[], bool]) -> bool:
        """Whether the URL leads to a registry; `ask` is called until it has returned true."""
        self._is_registry = self._is_registry or bool(self._by_id) or ask()
        return self._is_registry


@lru_cache(maxsize=MAX_CONFIGURATIONS)
def cache_of(_config: Hashable) -> RegistryCache:
    """The cache of the registry with a configuration."""
    return RegistryCache()
