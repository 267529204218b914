"""Planning is retried as often as the options say, and for longer in a query that runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import BrokerConnectionError, KafkaConfigError, KafkaError
from kafka_spark_source.options.read import parse_batch_options
from kafka_spark_source.reading import retries
from tests.fakes.skipping_time import sleeps_take_no_time

AWAY = BrokerConnectionError("broker 1 is away")
OPTIONS = parse_batch_options(
    {
        "kafka.bootstrap.servers": "b:1",
        "subscribe": "t",
        "fetchOffset.numRetries": "3",
        "fetchOffset.retryIntervalMs": "7",
    }
)


@pytest.fixture
def pauses() -> Iterator[list[float]]:
    with sleeps_take_no_time() as time:
        yield time.pauses_ms


def plan_after(*errors: KafkaError, is_running: bool = False) -> str:
    """Plan successfully once these errors were raised, one per attempt."""
    pending = iter(errors)

    def plan(deadline: Deadline) -> str:
        assert deadline.remaining_ms > 0
        for error in pending:
            raise error
        return "planned"

    cluster = Cluster(ClientConfig.from_options(OPTIONS.kafka))
    return retries.with_retries(plan, cluster, OPTIONS, is_running=is_running)


def test_a_new_query_fails_after_the_last_attempt(pauses: list[float]) -> None:
    assert plan_after(AWAY, AWAY) == "planned"
    assert pauses == [7, 7]
    with pytest.raises(BrokerConnectionError):
        plan_after(AWAY, AWAY, AWAY)


def test_a_running_query_has_no_last_attempt_before_its_timeout(pauses: list[float]) -> None:
    assert plan_after(*[AWAY] * 20, is_running=True) == "planned"
    assert pauses == [7] * 20


def test_an_error_that_is_not_retriable_is_raised_at_once(pauses: list[float]) -> None:
    with pytest.raises(KafkaConfigError):
        plan_after(KafkaConfigError("wrong"), is_running=True)
    assert pauses == []
