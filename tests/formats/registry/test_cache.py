"""What a registry said is kept for a process, and for its configuration alone."""

from __future__ import annotations

import random
import uuid

import pytest

from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry.cache import cache_of
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.responses import SchemaBody
from kafka_formats.registry.schemas import RegisteredSchema
from tests.fakes.skipping_time import sleeps_take_no_time

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


def test_an_id_that_is_missing_is_asked_for_less_and_less_often() -> None:
    """A follower of a registry may have it a moment later, and payloads may name any."""
    asked: list[int] = []

    def ask() -> RegisteredSchema:
        asked.append(len(asked))
        raise NotFoundError(f"answer {len(asked)}")

    with sleeps_take_no_time() as passing:
        for waited, answers in [(0, 1), (0.1, 1), (0.2, 2), (0.7, 2), (0.2, 3), (99, 4), (59, 5)]:
            passing(waited)
            for _ in range(10):
                with pytest.raises(NotFoundError, match=f"answer {answers}"):
                    cache_of(config()).by_id(7, ask)
            assert len(asked) == answers
        with pytest.raises(NotFoundError, match="asked again"):
            cache_of(config()).by_id(8, fail)
        passing(61)
        assert cache_of(config()).by_id(7, lambda: schema("seven")).text == "seven"


@pytest.mark.parametrize("seed", range(20))
def test_no_id_is_believed_to_be_missing_for_more_than_a_minute(seed: int) -> None:
    """However often it was asked for, and after whatever pauses."""
    chance = random.Random(seed)
    asked = 0

    def ask() -> RegisteredSchema:
        nonlocal asked
        asked += 1
        raise NotFoundError("no such id")

    with sleeps_take_no_time() as passing:
        for _ in range(30):
            for _ in range(chance.randrange(5)):
                passing(chance.choice([0.1, 1, 20, 600]))
                with pytest.raises(NotFoundError):
                    cache_of(config()).by_id(7, ask)
            before = asked
            passing(60.1)
            with pytest.raises(NotFoundError):
                cache_of(config()).by_id(7, ask)
            assert asked == before + 1


def test_the_memory_of_missing_ids_is_limited() -> None:
    cache = cache_of(config())
    for number in range(10_050):
        with pytest.raises(NotFoundError):
            cache.by_id(number, fail)
    assert len(cache._missing._missing) <= 10_000


def test_another_error_is_not_kept() -> None:
    def away() -> RegisteredSchema:
        raise RegistryError("away")

    with pytest.raises(RegistryError, match="away"):
        cache_of(config()).by_id(7, away)
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
