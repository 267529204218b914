"""A writer of transactions, some of which it aborts; librdkafka."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from confluent_kafka import KafkaException, Producer

ABORTED = "aborted-"
"""Values that begin so are in aborted transactions only."""

_RECORDS = 5
_SOON_SECONDS = 30
_PAUSE_SECONDS = 0.4
_ABORTS = 0.5


@contextmanager
def transactions(servers: str, topic: str, chance: random.Random) -> Iterator[None]:
    """Writes transactions, as long as the block lasts."""
    leave = threading.Event()

    def write() -> None:
        numbers = itertools.count()
        while not leave.is_set():
            # A new producer after an error: it fences the old one, whose transaction ends.
            with suppress(KafkaException):
                _write(_producer(servers, topic), topic, chance, numbers, leave)
            leave.wait(_PAUSE_SECONDS)

    with ThreadPoolExecutor(1) as pool:
        thread = pool.submit(write)
        try:
            yield
        finally:
            leave.set()
    thread.result()


def _producer(servers: str, topic: str) -> Producer:
    return Producer(
        {
            "bootstrap.servers": servers,
            "transactional.id": f"writer of {topic}",
            "transaction.timeout.ms": 10_000,
            "topic.metadata.refresh.interval.ms": 200,
            "reconnect.backoff.max.ms": 500,
            "socket.timeout.ms": 10_000,
            "log_level": 2,
        }
    )


def _write(
    producer: Producer,
    topic: str,
    chance: random.Random,
    numbers: Iterator[int],
    leave: threading.Event,
) -> None:
    producer.init_transactions(_SOON_SECONDS)
    while not leave.wait(_PAUSE_SECONDS):
        aborts = chance.random() < _ABORTS
        prefix = ABORTED if aborts else "committed-"
        producer.begin_transaction()
        for number in itertools.islice(numbers, _RECORDS):
            producer.produce(topic, f"{prefix}{number}")
        # Aborted records must be in the log to be worth anything.
        producer.flush(_SOON_SECONDS)
        end = producer.abort_transaction if aborts else producer.commit_transaction
        end(_SOON_SECONDS)
