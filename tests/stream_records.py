"""Records with unique values, and whether a stream delivered each of them once."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.truth.delivery import compare_all, complaints
from tests.witness import records_of

SOON_SECONDS = 60


class Record(NamedTuple):
    topic: str
    partition: int
    offset: int
    value: str


Offsets = dict[str, dict[int, int]]
"""Topic -> partition -> offset."""


class Journal:
    """Writes records, and keeps those that the brokers acknowledged (acks=all, idempotent).

    Their values are `w<writer>-<number>`. `read` gives the records of a partition.
    """

    def __init__(
        self,
        servers: str,
        read: Callable[[str, str, int], list[tuple[int, str]]] = records_of,
    ) -> None:
        self.records: list[Record] = []
        self._servers = servers
        self._read = read
        self._writers = itertools.count()
        # Topic, partition and value.
        self._without_offset: list[tuple[str, int, str]] = []

    def write(
        self, topic: str, partitions: Iterable[int], count: int = 10, **options: Any
    ) -> list[Record]:
        """Writes `count` records to each of the partitions, and returns them.

        The options are further arguments of `Producer.produce`, such as a timestamp.
        """
        before = len(self.records)
        wanted = [partition for partition in partitions for _ in range(count)]
        writer = self._writer()
        for value, partition in zip(writer.values, wanted):  # noqa: B905 -- values have no end
            writer.producer.produce(topic, value, partition=partition, **options)
        writer.finish()
        self._find_offsets()
        return self.records[before:]

    @contextmanager
    def writing(self, topic: str, writers: int, interval_seconds: float) -> Iterator[None]:
        """Writes to all partitions of the topic as long as the block lasts."""
        leave = threading.Event()

        def write() -> None:
            writer = self._writer()
            while not leave.wait(interval_seconds):
                writer.producer.produce(topic, next(writer.values))
                writer.producer.poll(0)
            writer.finish()

        with ThreadPoolExecutor(writers) as pool:
            threads = [pool.submit(write) for _ in range(writers)]
            try:
                yield
            finally:
                leave.set()
        for thread in threads:
            thread.result()
        self._find_offsets()

    def add_partitions(self, topic: str, count: int) -> None:
        """Adds partitions up to `count`, and returns when all have a leader."""
        admin = AdminClient({"bootstrap.servers": self._servers})
        admin.create_partitions([NewPartitions(topic, count)])[topic].result(SOON_SECONDS)

        def are_there() -> bool:
            found = admin.list_topics(topic, SOON_SECONDS).topics[topic].partitions.values()
            return len(found) == count and all(each.leader >= 0 for each in found)

        assert Deadline(SOON_SECONDS).wait_for(are_there)

    def ends(self) -> Offsets:
        """The offset after the last record of each partition that has records."""
        ends: Offsets = {}
        for record in sorted(self.records):
            ends.setdefault(record.topic, {})[record.partition] = record.offset + 1
        return ends

    def values(self, topic: str, partitions: int) -> dict[int, list[str]]:
        """The values of each partition, by offset."""
        values: dict[int, list[str]] = {each: [] for each in range(partitions)}
        for record in sorted(self.records):
            if record.topic == topic:
                values[record.partition].append(record.value)
        return values

    def _writer(self) -> _Writer:
        return _Writer(self._servers, next(self._writers), self._keep)

    def _keep(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None
        assert partition is not None
        value = (message.value() or b"").decode()
        if offset is None:
            self._without_offset.append((topic, partition, value))
        else:
            self.records.append(Record(topic, partition, offset, value))

    def _find_offsets(self) -> None:
        """Of records that were sent again: a broker acknowledges a duplicate without an offset."""
        for place in {(topic, partition) for topic, partition, _ in self._without_offset}:
            records = self._read(self._servers, *place)
            offsets = {value: offset for offset, value in reversed(records)}
            values = [value for *its, value in self._without_offset if tuple(its) == place]
            missing = [value for value in values if value not in offsets]
            assert not missing, (
                f"{len(missing)} records are acknowledged without an offset, the first is "
                f"{missing[0]!r}, and are not in the log of {place}, where a reader found "
                f"{len(records)} records from {records[:1]} to {records[-1:]}"
            )
            self.records += [Record(*place, offsets[value], value) for value in values]
        self._without_offset.clear()


class _Writer:
    def __init__(self, servers: str, name: int, keep: Any) -> None:
        self.values = (f"w{name}-{number}" for number in itertools.count())
        self.producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                # A broker accepts any sequence number of a producer that it does not know. If the
                # first request finds no leader yet, the second is written, and the first, when it
                # is sent again, is taken for a duplicate: acknowledged, and not in the log.
                "max.in.flight.requests.per.connection": 1,
                "on_delivery": keep,
                # Find new partitions soon.
                "topic.metadata.refresh.interval.ms": 200,
                # Errors come to `keep`; the log has each lost connection.
                "log_level": 2,
            }
        )

    def finish(self) -> None:
        assert self.producer.flush(SOON_SECONDS) == 0


def expect_each_once(found: Sequence[Record], journal: Journal, starts: Offsets) -> None:
    """Fails unless the stream delivered each record of the journal once, in any order.

    It started at these offsets, and in other partitions at the first offset.
    """

    def start_of(record: Record) -> int:
        return starts.get(record.topic, {}).get(record.partition, 0)

    expected = _by_place(each for each in journal.records if each.offset >= start_of(each))
    by_place = _by_place(found)
    problems = complaints("the stream", compare_all(expected, by_place))
    assert not problems, problems
    for place, records in by_place.items():
        start = start_of(records[0])
        assert [each.offset for each in records] == [*range(start, start + len(records))], place


def _by_place(records: Iterable[Record]) -> dict[tuple[str, int], list[Record]]:
    places: dict[tuple[str, int], list[Record]] = {}
    for record in sorted(records):
        places.setdefault((record.topic, record.partition), []).append(record)
    return places
