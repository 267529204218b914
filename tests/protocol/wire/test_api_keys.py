"""The numbers of the APIs, compared with Kafka's own schemas."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from kafka_protocol.wire.api_keys import ApiKey
from tests.protocol.catalogue import REQUESTS
from tests.protocol.kafka_jar import BEFORE_4, CURRENT, KafkaJar

# Names before Kafka 4.
RENAMED = {"LIST_CLIENT_METRICS_RESOURCES": "LIST_CONFIG_RESOURCES"}


def constant(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


@pytest.mark.parametrize("release", [CURRENT, BEFORE_4])
def test_names_and_numbers_equal_kafkas(release: str, kafka_jar: Callable[[str], KafkaJar]) -> None:
    theirs = {}
    for name, api_key in kafka_jar(release).api_keys().items():
        theirs[RENAMED.get(constant(name), constant(name))] = api_key
    ours = {key.name: key.value for key in ApiKey}
    assert theirs.items() <= ours.items()
    if release == CURRENT:
        assert theirs == ours


def test_declared_messages_have_these_numbers() -> None:
    assert {constant(cls.api_name): cls.api_key for cls in REQUESTS} == {
        ApiKey(cls.api_key).name: cls.api_key for cls in REQUESTS
    }


def test_declared_apis() -> None:
    """All, except those for brokers and controllers only, and those above key 79."""
    internal = {52, 53, 54, 56, 58, 59, 62, 63, 64, 67, 70, 73}
    assert {cls.api_key for cls in REQUESTS} == set(range(80)) - internal
