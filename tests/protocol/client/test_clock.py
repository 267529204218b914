"""Deadlines and back-off, with short waits."""

from __future__ import annotations

import time
from collections.abc import MutableSequence
from dataclasses import replace
from typing import Any

import pytest

from kafka_protocol.client import clock
from kafka_protocol.client.clock import Deadline, Retry, backoff_after
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
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
RETRIABLE = BrokerError(ErrorCode.LEADER_NOT_AVAILABLE, "Metadata of t")
UNREACHABLE = BrokerConnectionError("a:1: connection refused")


def test_deadline() -> None:
    deadline = Deadline.after(10_000)
    assert not deadline.has_passed
    assert 9_000 < deadline.remaining_ms <= 10_000
    assert deadline.capped_at(50).remaining_ms <= 50
    assert deadline.capped_at(50_000).remaining_ms <= 10_000
    assert repr(Deadline.after(-1)) == "<Deadline in 0 ms>"
    assert Deadline.after(-1).has_passed


def waits_ms(retry: Retry, error: KafkaError, times: int) -> list[float]:
    waits = []
    for _ in range(times):
        started = time.monotonic()
        retry.wait_if_retriable(error)
        waits.append((time.monotonic() - started) * 1000)
    return waits


def test_back_off_doubles_up_to_its_maximum() -> None:
    waits = waits_ms(Retry(CONFIG, Deadline.after(10_000), 10_000), RETRIABLE, 6)
    assert all(wait >= least * 0.8 for wait, least in zip(waits, (1, 2, 4, 8, 8, 8), strict=True))


@pytest.mark.parametrize(
    ("failures", "initial_ms", "backoff_ms"),
    [(0, 100, 100), (1, 100, 200), (3, 100, 500), (10_000, 100, 500), (5, 0, 1)],
)
def test_a_back_off_has_jitter_and_is_never_0(
    failures: int, initial_ms: float, backoff_ms: float
) -> None:
    found = {backoff_after(failures, initial_ms, 500) for _ in range(50)}
    assert 0.8 * backoff_ms <= min(found) < max(found) <= 1.2 * backoff_ms


def test_an_error_that_is_not_retriable_is_raised_at_once() -> None:
    with pytest.raises(ProtocolError):
        Retry(CONFIG, Deadline.after(10_000), 10_000).wait_if_retriable(ProtocolError("no broker"))


def test_the_deadline_ends_the_retries_with_the_last_error() -> None:
    retry = Retry(CONFIG, Deadline.after(30), 10_000)
    with pytest.raises(BrokerError) as caught:
        waits_ms(retry, RETRIABLE, 1_000)
    assert caught.value is RETRIABLE


def test_unreachable_brokers_end_the_retries_sooner() -> None:
    retry = Retry(CONFIG, Deadline.after(600_000), 30)
    with pytest.raises(BrokerConnectionError):
        waits_ms(retry, UNREACHABLE, 1_000)


def test_a_broker_that_returns_an_error_is_reachable() -> None:
    retry = Retry(CONFIG, Deadline.after(600_000), 300)
    started = time.monotonic()
    for _ in range(50):
        retry.wait_if_retriable(UNREACHABLE)
        retry.wait_if_retriable(RETRIABLE)
    assert time.monotonic() - started > 0.3


def test_retries_with_a_back_off_of_zero_end_too() -> None:
    config = replace(CONFIG, retry_backoff_ms=0, retry_backoff_max_ms=0)
    retry = Retry(config, Deadline.after(30), 10_000)
    with pytest.raises(BrokerError):
        waits_ms(retry, RETRIABLE, 10_000)


class _StandingClock:
    """A clock that stands still, and keeps how long it was told to sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return 7.0

    def time_ns(self) -> int:
        return 12_000_000

    def process_time_ns(self) -> int:
        return 3_000_000

    def sleep(self, seconds: float, /) -> None:
        self.slept.append(seconds)

    def uniform(self, a: float, b: float) -> float:
        return b

    def shuffle(self, x: MutableSequence[Any]) -> None:
        x.reverse()

    def getrandbits(self, k: int, /) -> int:
        return k


def test_time_and_random_numbers_come_from_another_source() -> None:
    source = _StandingClock()
    values = [1, 2, 3]
    with clock.use(source):
        assert (clock.now_ms(), clock.monotonic_ms(), clock.cpu_ms()) == (12, 7_000, 3)
        assert Deadline.after(50).remaining_ms == pytest.approx(50)
        assert clock.random_seed() == 64
        clock.sleep_ms(20)
        Retry(CONFIG, Deadline.after(10_000), 10_000).wait_if_retriable(RETRIABLE)
        clock.shuffle(values)
    assert source.slept == [0.02, pytest.approx(0.0012)]
    assert values == [3, 2, 1]
    assert clock.monotonic_ms() != 7_000
