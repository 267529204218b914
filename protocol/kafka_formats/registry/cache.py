"""Facts from registries that never change, kept as long as the process lives.

Ids, GUIDs and versions never change their meaning, so the next task in a reused Python worker does
not ask for them again. Configurations are the keys: one may see schemas that another may not.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Final

from kafka_formats.registry.responses import SchemaBody
from kafka_formats.registry.schemas import RegisteredSchema

# As many configurations as `kafka_protocol.client.pool` keeps.
MAX_CONFIGURATIONS: Final = 16


class RegistryCache:
    """The known schemas of one registry."""

    def __init__(self) -> None:
        self._by_id: dict[int | uuid.UUID, RegisteredSchema] = {}
        self._by_version: dict[tuple[str, int], SchemaBody] = {}
        self._is_registry = False
        self.gives_descriptors = True
        """Whether the registry has to be asked for descriptors of Protobuf; until it gave none."""

    def by_id(
        self, schema_id: int | uuid.UUID, ask: Callable[[], RegisteredSchema]
    ) -> RegisteredSchema:
        """The schema with an id or a GUID; `ask` is called for an unknown one."""
        schema = self._by_id.get(schema_id)
        if schema is None:
            schema = self._by_id[schema_id] = ask()
        return schema

    def by_version(self, subject: str, version: int, ask: Callable[[], SchemaBody]) -> SchemaBody:
        """The schema of a version of a subject; `ask` is called for an unknown one."""
        schema = self._by_version.get((subject, version))
        if schema is None:
            schema = self._by_version[subject, version] = ask()
        return schema

    def is_registry(self, ask: Callable[[], bool]) -> bool:
        """Whether the URL is that of a registry; `ask` is called until it is known to be."""
        self._is_registry = self._is_registry or bool(self._by_id) or ask()
        return self._is_registry


@lru_cache(maxsize=MAX_CONFIGURATIONS)
def cache_of(_config: Hashable) -> RegistryCache:
    """The cache of the registry with a configuration."""
    return RegistryCache()
