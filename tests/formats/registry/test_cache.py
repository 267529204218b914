"""What a registry said is kept for a process, and for its configuration alone."""

from __future__ import annotations

import uuid

import pytest

from kafka_formats.errors import NotFoundError
from kafka_formats.registry.cache import cache_of
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.responses import SchemaBody
from kafka_formats.registry.schemas import RegisteredSchema

GUID = uuid.UUID(int=7)


def config(url: str = "http://a") -> RegistryConfig:
    return RegistryConfig.from_options({"url": url})


def schema(text: str) -> RegisteredSchema:
    return RegisteredSchema(None, "AVRO", text)


def fail() -> RegisteredSchema:
    raise NotFoundError("asked again")


def test_an_id_is_asked_for_once() -> None:
    assert cache_of(config()).by_id(7, lambda: schema("seven")).text == "seven"
    assert cache_of(config()).by_id(7, fail).text == "seven"
    # A GUID of the same bits is another id.
    assert cache_of(config()).by_id(GUID, lambda: schema("guid")).text == "guid"


def test_another_configuration_asks_itself() -> None:
    cache_of(config()).by_id(7, lambda: schema("seven"))
    with pytest.raises(NotFoundError):
        cache_of(config("http://b")).by_id(7, fail)


def test_an_error_is_not_kept() -> None:
    with pytest.raises(NotFoundError):
        cache_of(config()).by_id(7, fail)
    assert cache_of(config()).by_id(7, lambda: schema("seven")).text == "seven"


def test_a_registry_is_asked_for_until_it_is_known() -> None:
    cache = cache_of(config())
    assert not cache.is_registry(lambda: False)
    assert cache.is_registry(lambda: True)
    assert cache.is_registry(lambda: False)
    other = cache_of(config("http://b"))
    other.by_id(7, lambda: schema("seven"))
    assert other.is_registry(lambda: False)


def test_a_version_is_asked_for_once() -> None:
    first, second = SchemaBody("AVRO", "one", ()), SchemaBody("AVRO", "two", ())
    assert cache_of(config()).by_version("orders", 1, lambda: first) == first
    assert cache_of(config()).by_version("orders", 1, lambda: second) == first
    assert cache_of(config()).by_version("orders", 2, lambda: second) == second
