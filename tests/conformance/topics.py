"""Topics with all kinds of contents, written by librdkafka when they are first used."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from confluent_kafka import Producer

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.admin import Admin
from tests.witness import messages_of

SOON_SECONDS: Final = 60
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
START_MS: Final = 1_760_000_000_000
STEP_MS: Final = 1_000
LARGEST_BYTES: Final = 5_000_000

Record = dict[str, Any]
"""The arguments of `Producer.produce`."""


def numbered(count: int, partition: int = 0, name: str = "value") -> list[Record]:
    """Small records, one for each second."""
    return [
        {
            "key": b"key %d" % (number % 7),
            "value": f"{name} {number}".encode(),
            "partition": partition,
            "timestamp": at(number),
        }
        for number in range(count)
    ]


def at(number: int, and_ms: int = 0) -> int:
    """The time of a record of `numbered`, in ms since 1970."""
    return START_MS + number * STEP_MS + and_ms


def of(topic: str, *positions: object) -> str:
    """The JSON that maps partition 0, 1, ... of a topic to these."""
    return json.dumps({topic: {str(number): each for number, each in enumerate(positions)}})


class Topics:
    """Creates and fills topics; most methods return the name of the topic."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._admin = Admin(servers, replicas=1)
        self._open: list[Producer] = []

    def make(self, name: str, partitions: int = 1, **configs: str) -> str:
        """An empty topic; `max_message_bytes="..."` is a topic configuration."""
        config = {key.replace("_", "."): value for key, value in configs.items()}
        self._admin.create(name, partitions, config)
        return name

    def write(self, topic: str, records: Iterable[Record], **options: str) -> None:
        """Write records, and wait until they are acknowledged."""
        config = {key.replace("_", "."): value for key, value in options.items()}
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5} | config)
        for record in records:
            producer.produce(topic, **record)
        assert producer.flush(SOON_SECONDS) == 0

    def write_transaction(self, topic: str, name: str, count: int, end: str) -> None:
        """Write a transaction, a batch for each record; `end` is commit, abort or open."""
        options = {"bootstrap.servers": self.servers, "linger.ms": 0, "transactional.id": name}
        producer = Producer(options)
        producer.init_transactions(SOON_SECONDS)
        producer.begin_transaction()
        for record in numbered(count, name=name):
            producer.produce(topic, **record)
            assert producer.flush(SOON_SECONDS) == 0
        if end == "open":
            self._open.append(producer)
        else:
            getattr(producer, f"{end}_transaction")(SOON_SECONDS)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Move the log start offset of a partition."""
        self._admin.delete_records(topic, {partition: before})

    def messages(self, topic: str) -> list[Any]:
        """All committed records, by partition and offset."""
        return messages_of(self.servers, topic, range(self._admin.partitions(topic)))

    def codec(self, codec: str) -> str:
        """Two partitions with small and larger batches of one codec."""
        name = self.make(f"codec-{codec}", partitions=2)
        for partition in (0, 1):
            self.write(name, numbered(400, partition), compression_type=codec)
            large = [
                record | {"value": record["value"] * 500} for record in numbered(40, partition)
            ]
            self.write(name, large, compression_type=codec)
        return name

    @functools.cached_property
    def all_codecs(self) -> str:
        """One partition with batches of all codecs."""
        name = self.make("all-codecs")
        for codec in CODECS * 2:
            self.write(name, numbered(50, name=codec), compression_type=codec)
        return name

    @functools.cached_property
    def idempotent(self) -> str:
        """Batches with a producer's id and sequence numbers."""
        name = self.make("idempotent", partitions=2)
        self.write(name, numbered(100, 0), enable_idempotence="true")
        self.write(name, numbered(100, 1), enable_idempotence="true")
        return name

    @functools.cached_property
    def transactions(self) -> str:
        """Committed and aborted transactions, and records without; none is open."""
        name = self.make("transactions")
        self._write_transactions(name)
        return name

    @functools.cached_property
    def open_transaction(self) -> str:
        """The same, then an open transaction, and more records after it."""
        name = self.make("open-transaction")
        self._write_transactions(name)
        self.write_transaction(name, f"{name}-open", 3, "open")
        self.write_transaction(name, f"{name}-late", 2, "commit")
        self.write(name, numbered(2, name="late"))
        return name

    def _write_transactions(self, name: str) -> None:
        self.write_transaction(name, f"{name}-a", 4, "commit")
        self.write_transaction(name, f"{name}-b", 5, "abort")
        self.write(name, numbered(3, name="plain"))
        self.write_transaction(name, f"{name}-c", 2, "abort")
        self.write_transaction(name, f"{name}-d", 3, "commit")

    @functools.cached_property
    def ends_with_abort(self) -> str:
        """The last records of the log belong to an aborted transaction."""
        name = self.make("ends-with-abort")
        self.write(name, numbered(2))
        self.write_transaction(name, name, 4, "abort")
        return name

    @functools.cached_property
    def compacted(self) -> str:
        """Gaps, also at the start, tombstones, and batches without records."""
        name = self.make(
            "compacted",
            cleanup_policy="compact",
            segment_ms="100",
            min_cleanable_dirty_ratio="0.01",
            delete_retention_ms="0",
        )
        written = 0
        for turn in range(3):
            self.write(name, numbered(200, name=f"turn {turn}"))
            self.write_transaction(name, f"{name}-{turn}", 3, "abort" if turn == 1 else "commit")
            self.write(name, [{"key": b"key 3", "value": None, "partition": 0}])
            written += 204
        self._until(lambda: self._compacted_below(name, written // 2))
        return name

    def _compacted_below(self, name: str, count: int) -> bool:
        # Only closed segments are cleaned; a record later than segment.ms closes one.
        self.write(name, [{"key": b"a new one", "value": b"last", "partition": 0}])
        time.sleep(0.2)
        return len(self.messages(name)) < count

    @functools.cached_property
    def cut(self) -> str:
        """Two partitions without their first records, one without any, and a whole one."""
        name = self.make("cut", partitions=4)
        for partition in range(4):
            self.write(name, numbered(20, partition))
        for partition, before in ((0, 7), (1, 1), (2, 20)):
            self.delete_records(name, partition, before)
        return name

    @functools.cached_property
    def headers(self) -> str:
        """No, one and many headers; duplicate, empty and non-ASCII keys; null and empty values."""
        name = self.make("headers")
        kinds: list[list[tuple[str, bytes | None]] | None] = [
            None,
            [("one", b"1")],
            [("twice", b"first"), ("other", b"x"), ("twice", b"second"), ("twice", None)],
            [("null", None)],
            [("empty", b"")],
            [("", b"of an empty key")],
            [("schl\u00fcssel \u4e2d", b"\x00\xff" * 100)],
            [(f"header {number}", b"%d" % number) for number in range(200)],
            [],
        ]
        self.write(
            name,
            [
                record | ({} if kinds[number % 9] is None else {"headers": kinds[number % 9]})
                for number, record in enumerate(numbered(45))
            ],
        )
        return name

    @functools.cached_property
    def nulls(self) -> str:
        """All combinations of null, empty and other keys and values."""
        name = self.make("nulls")
        kinds = [None, b"", b"something"]
        pairs = [(key, value) for key in kinds for value in kinds]
        self.write(
            name,
            [
                record | {"key": pairs[number % 9][0], "value": pairs[number % 9][1]}
                for number, record in enumerate(numbered(27))
            ],
        )
        return name

    @functools.cached_property
    def partly_empty(self) -> str:
        """Five partitions, three of them without a record."""
        name = self.make("partly-empty", partitions=5)
        self.write(name, [*numbered(10, 1), *numbered(3, 3)])
        return name

    @functools.cached_property
    def empty(self) -> str:
        """Two partitions without a record."""
        return self.make("empty", partitions=2)

    @functools.cached_property
    def created(self) -> str:
        """CreateTime; partitions of 60, 30 and no records, one for each second."""
        name = self.make("created", partitions=3)
        self.write(name, [*numbered(60, 0), *numbered(30, 1)])
        return name

    @functools.cached_property
    def out_of_order(self) -> str:
        """CreateTime, not in the order of offsets."""
        name = self.make("out-of-order")
        times = [START_MS + ((number * 37) % 60) * STEP_MS for number in range(60)]
        for few in range(0, 60, 10):
            records = zip(numbered(60)[few : few + 10], times[few : few + 10], strict=True)
            self.write(name, [record | {"timestamp": ms} for record, ms in records])
        return name

    @functools.cached_property
    def appended(self) -> str:
        """LogAppendTime, which replaces the timestamps of the producer."""
        name = self.make("appended", partitions=2, message_timestamp_type="LogAppendTime")
        for _ in range(5):
            self.write(name, [*numbered(10, 0), *numbered(4, 1)])
        return name

    @functools.cached_property
    def sizes(self) -> str:
        """Values from one byte to 5 MB, in any order, with and without compression."""
        name = self.make("sizes", partitions=2, max_message_bytes="6000000")
        bytes_of = [1, 2, 127, 128, 16_383, 16_384, 1_000_000, 3, LARGEST_BYTES, 4, 2_000_000, 5]
        for partition, codec in ((0, "none"), (1, "lz4")):
            records = [
                {"value": bytes([number]) * size, "partition": partition, "timestamp": START_MS}
                for number, size in enumerate(bytes_of)
            ]
            self.write(name, records, message_max_bytes="6000000", compression_type=codec)
        return name

    @functools.cached_property
    def pattern(self) -> tuple[str, str, str]:
        """Three topics; two of them have `pattern-` in their names."""
        names = ("pattern-one", "my-pattern-two", "other-one")
        for name in names:
            self.make(name, partitions=2)
            self.write(name, [*numbered(5, 0, name), *numbered(6, 1, name)])
        return names

    @staticmethod
    def _until(done: Callable[[], bool]) -> None:
        assert Deadline(SOON_SECONDS).wait_for(done)
