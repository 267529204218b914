"""What is in the topics and files now, read while they are written."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlparse

from confluent_kafka import Consumer, KafkaException, TopicPartition
from typing_extensions import Self

from tests.truth.progress import Sample

Item = tuple[int, str]
"""The offset and the value of a record."""

_POLL_SECONDS = 0.2
_SOON_SECONDS = 30


class Watcher:
    """Reads topics with librdkafka, committed records only, and the files of a file sink.

    A thread of its own reads while the `with` block lasts.

    Args:
        servers: The brokers.
        source: The topic that is copied.
        topics: The copies in topics, by their name.
        files: The folder of the file sink, whose name as a copy is `files`.
        begun: When the run began, in seconds of `time.monotonic()`.
    """

    def __init__(
        self, servers: str, source: str, topics: Mapping[str, str], files: Path, begun: float
    ) -> None:
        self.records: dict[str, dict[int, list[Item]]] = {
            name: defaultdict(list) for name in ("source", *topics, "files")
        }
        self.samples: list[Sample] = []
        self._names = {source: "source"} | {topic: name for name, topic in topics.items()}
        self._counts: dict[str, set[str]] = {name: set() for name in self.records}
        self._files = _FileSink(files)
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "watcher",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 500,
                # Without it a new leader is looked for after minutes.
                "topic.metadata.refresh.interval.ms": 1_000,
                "fetch.wait.max.ms": 100,
                "log_level": 2,
            }
        )
        self._assigned: set[tuple[str, int]] = set()
        self._begun = begun
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watcher")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._leave.set()
        self._thread.join(_SOON_SECONDS)
        self._consumer.close()

    @property
    def seconds(self) -> float:
        """The time of the run, as in the samples."""
        return time.monotonic() - self._begun

    def count(self, name: str) -> int:
        """The number of different records."""
        return len(self._counts[name])

    @property
    def most_behind(self) -> int:
        """The records of the source that the slowest copy lacks."""
        names = self._counts.keys() - {"source"}
        return self.count("source") - min(map(self.count, names))

    def _watch(self) -> None:
        assigned_at = 0.0
        while not self._leave.is_set():
            if time.monotonic() > assigned_at + 1:
                self._assign()
                assigned_at = time.monotonic()
            for message in self._consumer.consume(10_000, _POLL_SECONDS):
                topic, partition, offset = message.topic(), message.partition(), message.offset()
                # Errors are of brokers that are down; librdkafka goes on.
                if message.error() is None:
                    assert topic is not None and partition is not None and offset is not None
                    value = (message.value() or b"").decode()
                    self._add(self._names[topic], partition, (offset, value))
            for partition, item in self._files.new():
                self._add("files", partition, item)
            counts = {name: len(values) for name, values in self._counts.items()}
            self.samples.append(Sample(self.seconds, counts.pop("source"), counts))

    def _add(self, name: str, partition: int, item: Item) -> None:
        self.records[name][partition].append(item)
        self._counts[name].add(item[1])

    def _assign(self) -> None:
        """Adds partitions that are new."""
        for topic in self._names:
            try:
                found = self._consumer.list_topics(topic, timeout=1).topics[topic].partitions
            except KafkaException:  # no broker now; there will be another round
                continue
            new = {(topic, partition) for partition in found} - self._assigned
            if new:
                self._consumer.incremental_assign([TopicPartition(*each, 0) for each in new])
                self._assigned |= new


class _FileSink:
    """The rows of Spark's file sink, by its own log, each file once."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "_spark_metadata"
        self._last = -1
        self._read: set[str] = set()

    def new(self) -> Iterator[tuple[int, Item]]:
        """The rows that are logged since the last call: partition, and offset and value."""
        for batch, log in self._logs():
            if batch > self._last:
                for line in log.read_text().splitlines()[1:]:
                    path = json.loads(line)["path"]
                    if path not in self._read:
                        self._read.add(path)
                        yield from _rows(Path(unquote(urlparse(path).path)))
                self._last = batch

    def _logs(self) -> list[tuple[int, Path]]:
        """The number of each batch, and its log: `7`, or `9.compact`."""
        if not self._log.exists():
            return []
        files = [file for file in list(self._log.iterdir()) if file.name[0] != "."]
        return sorted((int(file.name.partition(".")[0]), file) for file in files)


def _rows(file: Path) -> Iterator[tuple[int, Item]]:
    for line in file.read_text().splitlines():
        row = json.loads(line)
        yield row["partition"], (row["offset"], row["value"])
