"""Schemas of Azure Schema Registry by their ids, which are GUIDs.

It has no subjects as others have: a read gives the schema to read as.

Source: the REST API of Azure Schema Registry, 2022-10.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import Final, Literal

from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry.cache import cache_of
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.failover import Call, Exchange
from kafka_formats.registry.refusals import missing_if_served
from kafka_formats.registry.responses import SchemaBody, read_groups, read_text
from kafka_formats.registry.schemas import Metadata, RegisteredSchema, SubjectVersion
from kafka_protocol.client.network.http_request import HttpResponse

_VERSION: Final = "api-version=2022-10"
_ANY: Final = "*/*"
_KIND: Final = re.compile(r"serialization=([A-Za-z]{1,20})")


@dataclass(frozen=True, slots=True)
class AzureConfig:
    """A registry of Azure's: how to connect; the URLs are of its namespace."""

    registry: RegistryConfig


class AzureClient:
    """A client of one registry of Azure's, for one thread; a `SchemaSource`.

    Each method raises as the same one of `RegistryClient`.
    """

    def __init__(self, config: AzureConfig) -> None:
        self._exchange = Exchange(config.registry)
        self._cache = cache_of(config)

    def schema_of_id(self, schema_id: int) -> RegisteredSchema:
        """Always an error: ids are GUIDs there."""
        raise NotFoundError(f"schema id {schema_id}: Azure's ids have 32 hexadecimal digits")

    def schema_of_guid(self, guid: uuid.UUID) -> RegisteredSchema:
        """The schema with an id."""
        about = f"schema id {guid.hex}"
        path = f"/$schemaGroups/$schemas/{guid.hex}?{_VERSION}"

        def ask() -> RegisteredSchema:
            with missing_if_served(about, "it has no such schema", self._is_registry):
                call = Call(about, path, accept=_ANY)
                return RegisteredSchema(guid, *self._exchange.content_of(call, _schema_in))

        return self._cache.by_id(guid, ask)

    def version(self, subject: str, version: int | Literal["latest"]) -> SubjectVersion:
        """Always an error: the options refuse it before."""
        raise NotFoundError(f"subject {subject!r}, version {version}: Azure has no subjects")

    def version_with_metadata(self, subject: str, metadata: Metadata) -> SubjectVersion:  # noqa: ARG002
        """Always an error: the options refuse it before."""
        raise NotFoundError(f"subject {subject!r}: Azure has no subjects")

    def subjects(self) -> list[str]:
        """Always an error: the options refuse it before."""
        raise RegistryError("Azure has no subjects")

    def versions(self, subject: str) -> list[int]:
        """Always an error: there are no subjects."""
        raise NotFoundError(f"subject {subject!r}: Azure has no subjects")

    def places(self, schema_id: int | uuid.UUID) -> None:  # noqa: ARG002
        """None: there are no subjects."""
        return

    def _is_registry(self) -> bool:
        return self._cache.is_registry(self._serves_groups)

    def _serves_groups(self) -> bool:
        call = Call("the registry's groups", f"/$schemaGroups?{_VERSION}")
        try:
            self._exchange.response_to(call, read_groups)
        except RegistryError:
            return False
        return True


def _schema_in(response: HttpResponse) -> SchemaBody:
    match = _KIND.search(response.content_type)
    return SchemaBody("" if match is None else match[1].upper(), read_text(response), ())
