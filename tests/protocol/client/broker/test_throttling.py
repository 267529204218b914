"""How long a broker throttles a client. Requests: `consumer/test_fetch_faults.py`."""

from __future__ import annotations

import pytest

from kafka_protocol.client.broker.throttling import Throttling
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.wait_observer import observed_by
from kafka_protocol.errors import KafkaTimeoutError
from tests.fakes.skipping_time import sleeps_take_no_time

ADDRESS = Address("a", 1)


def test_a_throttled_client_waits_and_says_so() -> None:
    throttling = Throttling()
    shown: list[str | None] = []
    with sleeps_take_no_time(), observed_by(shown.append):
        throttling.begin(5_000)
        throttling.wait("Fetch to broker 1", ADDRESS, Deadline.after(60_000))
        assert throttling.is_over
    assert shown == ["a:1 (throttled, for a quota)", None]


def test_a_deadline_before_the_end_is_an_error_at_once() -> None:
    throttling = Throttling()
    throttling.begin(5_000)
    with pytest.raises(KafkaTimeoutError) as raised:
        throttling.wait("Fetch to broker 1", ADDRESS, Deadline.after(100))
    assert str(raised.value).startswith("Fetch to broker 1: the broker throttles this client for ")
    assert "because of a quota" in str(raised.value)
    assert not throttling.is_over
