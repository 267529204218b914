"""Deadlines and back-off, without waiting long."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.config.client import Address, ClientConfig
from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    ErrorCode,
    KafkaError,
    ProtocolError,
)

CONFIG = ClientConfig(
    bootstrap_servers=(Address("localhost", 1),), retry_backoff_ms=1, retry_backoff_max_ms=8
)
PASSING = BrokerError(ErrorCode.LEADER_NOT_AVAILABLE, "Metadata of t")
UNREACHABLE = BrokerConnectionError("a:1: connection refused")


def test_deadline() -> None:
    deadline = Deadline.after(10_000)
    assert not deadline.has_passed
    assert 9_000 < deadline.remaining_ms <= 10_000
    assert deadline.or_sooner(50).remaining_ms <= 50
    assert deadline.or_sooner(50_000).remaining_ms <= 10_000
    assert repr(Deadline.after(-1)) == "<Deadline in 0 ms>"
    assert Deadline.after(-1).has_passed


def waits_ms(retry: Retry, error: KafkaError, times: int) -> list[float]:
    waits = []
    for _ in range(times):
        started = time.monotonic()
        retry.wait_after(error)
        waits.append((time.monotonic() - started) * 1000)
    return waits


def test_back_off_doubles_to_its_maximum_and_begins_anew() -> None:
    retry = Retry(CONFIG, Deadline.after(10_000), 10_000)
    waits = waits_ms(retry, PASSING, 6)
    assert all(wait >= least * 0.8 for wait, least in zip(waits, (1, 2, 4, 8, 8, 8), strict=True))
    retry.succeeded()
    assert waits_ms(retry, PASSING, 1)[0] >= 0.8


def test_what_cannot_pass_is_raised_at_once() -> None:
    with pytest.raises(ProtocolError):
        Retry(CONFIG, Deadline.after(10_000), 10_000).wait_after(ProtocolError("no broker"))


def test_the_deadline_ends_it_with_the_last_error() -> None:
    retry = Retry(CONFIG, Deadline.after(30), 10_000)
    with pytest.raises(BrokerError) as caught:
        waits_ms(retry, PASSING, 1_000)
    assert caught.value is PASSING


def test_unreachable_brokers_end_it_sooner() -> None:
    retry = Retry(CONFIG, Deadline.after(600_000), 30)
    with pytest.raises(BrokerConnectionError):
        waits_ms(retry, UNREACHABLE, 1_000)


def test_any_answer_counts_as_reachable() -> None:
    retry = Retry(CONFIG, Deadline.after(600_000), 300)
    started = time.monotonic()
    for _ in range(50):
        retry.wait_after(UNREACHABLE)
        retry.wait_after(PASSING)
    assert time.monotonic() - started > 0.3


def test_a_back_off_of_zero_ends_too() -> None:
    config = replace(CONFIG, retry_backoff_ms=0, retry_backoff_max_ms=0)
    retry = Retry(config, Deadline.after(30), 10_000)
    with pytest.raises(BrokerError):
        waits_ms(retry, PASSING, 10_000)
