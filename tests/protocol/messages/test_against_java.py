"""The bytes of every message, read and written again by Kafka's own classes.

A Java process reads our bytes, writes the message again, and prints the value of each field.
"""

from __future__ import annotations

import base64
import math
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_protocol.wire.codec import read_message
from kafka_protocol.wire.schema import Field, Message, Struct, default_of, describe
from tests.protocol.catalogue import MESSAGES, name_of, versions_of
from tests.protocol.kafka_jar import BEFORE_4, CURRENT, KafkaJar, MessageOracle
from tests.protocol.strategies import encode, full, structs

pytestmark = pytest.mark.no_cover

OracleOf = Callable[[type[Message], int], MessageOracle]


@pytest.fixture(scope="session")
def oracle(kafka_jar: Callable[[str], KafkaJar]) -> Iterator[OracleOf]:
    """The Java process whose classes have a version of a message."""
    with ExitStack() as processes:

        @cache
        def started(release: str) -> MessageOracle:
            return processes.enter_context(closing(MessageOracle(kafka_jar(release))))

        def oracle_of(cls: type[Message], version: int) -> MessageOracle:
            is_current = version in kafka_jar(CURRENT).stable_versions(cls)
            return started(CURRENT if is_current else BEFORE_4)

        yield oracle_of


def check(message: Message, version: int, oracle: MessageOracle) -> None:
    body = encode(message, version)
    reread = oracle.reread(type(message), version, body)
    assert reread.body == body
    assert reread.unread == 0
    assert reread.content == as_json(message, version)
    assert read_message(type(message), version, memoryview(body)) == message


@pytest.mark.parametrize("cls", MESSAGES, ids=name_of)
def test_full_message(cls: type[Message], oracle: OracleOf) -> None:
    for version in versions_of(cls):
        check(full(cls, version), version, oracle(cls, version))


@pytest.mark.parametrize("cls", MESSAGES, ids=name_of)
# A tenth of the profile's: there are more than 600 versions of messages.
@settings(max_examples=settings().max_examples // 10, derandomize=True)
@given(data=st.data())
def test_any_message(cls: type[Message], oracle: OracleOf, data: st.DataObject) -> None:
    for version in versions_of(cls):
        check(data.draw(structs(cls, version)), version, oracle(cls, version))


# --- Our messages in the format of Kafka's JsonConverter ---------------------------------------


def as_json(value: Struct, version: int) -> dict[str, Any]:
    return dict(
        json_field(f, getattr(value, f.name), version)
        for f in value.__fields__
        if version in f.versions and is_written(f, getattr(value, f.name))
    )


def is_written(declared: Field, value: Any) -> bool:
    return declared.tag is None or bool(value != default_of(declared))


def json_field(declared: Field, value: Any, version: int) -> tuple[str, Any]:
    first, *others = declared.name.split("_")
    name = first + "".join(map(str.capitalize, others)).replace("Kraft", "KRaft")
    if describe(declared.wire_type).primitive == "records" and value is not None:
        return f"{name}SizeInBytes", len(value)
    return name, json_value(value, version)


def json_value(value: Any, version: int) -> Any:
    if isinstance(value, Struct):
        return as_json(value, version)
    if isinstance(value, list):
        return [json_value(element, version) for element in value]
    if isinstance(value, uuid.UUID):
        return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"  # JSON has no number for it
    return value
