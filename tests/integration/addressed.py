"""Whether a topic has records at the end of a test that nobody addressed to it.

Judges topics that librdkafka's producers of the test process wrote, and that no write names: the
sources of a test. At its end they must be as long as these producers made them. Writes that this
process does not see (other processes, its own client) and writes by a column `topic` address any
topic; a test with such a write is not judged.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import confluent_kafka
import pytest
from pyspark.sql import DataFrameReader, DataFrameWriter, DataFrameWriterV2, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

from kafka_protocol.client.producer.producer import Producer

_SERVERS: Final = "kafka.bootstrap.servers"
_WRITERS: Final = (DataFrameWriter, DataFrameWriterV2, DataStreamWriter)
_READERS: Final = (DataFrameReader, DataStreamReader)
# Options that name a topic to write to.
_NAMES: Final = frozenset({"topic", "deadlettertopic", "commitlogtopic"})
_NAMED_IN_SQL: Final = re.compile(r"\btopic'?\s*=?\s*'([^']+)'", re.IGNORECASE)
# Statements whose options are those of a write.
_WRITES_IN_SQL: Final = re.compile(r"\bVIEW\b|\bWITH\s*\(", re.IGNORECASE)


class Addressed:
    """Who was told to write where on some brokers, from now until the patches end.

    Attributes:
        told: The records that librdkafka's producers were told to write, by topic.
        named: The topics that writes name.
        is_blind: Whether there was a write that addresses topics which are not known here.
    """

    def __init__(self, servers: str, patches: pytest.MonkeyPatch) -> None:
        self.told: Counter[str] = Counter()
        self.named: set[str] = set()
        self.is_blind = False
        self._servers = servers
        self._of_writers: list[dict[str, str]] = []
        self._watch_spark(patches)
        self._watch_producers(patches)

    def misdirected(self, topics: Collection[str]) -> dict[str, tuple[int, int]]:
        """Which of the topics are longer than they should be: how long they should be, and are.

        The topics must have been empty at first.
        """
        by_column = any(_SERVERS in each and "topic" not in each for each in self._of_writers)
        if self.is_blind or by_column:
            return {}
        wanted = {
            topic: count
            for topic, count in self.told.items()
            if topic in topics and topic not in self.named
        }
        found = _lengths(self._servers, wanted) if wanted else {}
        return {
            topic: (count, found[topic])
            for topic, count in wanted.items()
            if found.get(topic, 0) > count
        }

    def _watch_spark(self, patches: pytest.MonkeyPatch) -> None:
        for kind in (*_WRITERS, *_READERS):
            of_writer = kind in _WRITERS
            patches.setattr(kind, "option", self._noting_option(kind.option, of_writer=of_writer))
            patches.setattr(
                kind, "options", self._noting_options(kind.options, of_writer=of_writer)
            )
        sql = SparkSession.sql

        def noting(session: SparkSession, statement: str, *args: Any, **kwargs: Any) -> Any:
            if _WRITES_IN_SQL.search(statement):
                self.named |= {*_NAMED_IN_SQL.findall(statement)}
            return sql(session, statement, *args, **kwargs)

        patches.setattr(SparkSession, "sql", noting)

    def _noting_option(self, option: Callable[..., Any], *, of_writer: bool) -> Callable[..., Any]:
        def noting(self_: Any, key: str, value: Any) -> Any:
            self._note(self_, {key: value}, of_writer=of_writer)
            return option(self_, key, value)

        return noting

    def _noting_options(
        self, options: Callable[..., Any], *, of_writer: bool
    ) -> Callable[..., Any]:
        def noting(self_: Any, **given: Any) -> Any:
            self._note(self_, given, of_writer=of_writer)
            return options(self_, **given)

        return noting

    def _note(self, owner: Any, given: Mapping[str, Any], *, of_writer: bool) -> None:
        lower = {name.lower(): str(value) for name, value in given.items()}
        self.named |= {value for name, value in lower.items() if name in _NAMES}
        if of_writer:
            if not hasattr(owner, "_noted_options"):
                owner._noted_options = {}
                self._of_writers.append(owner._noted_options)
            owner._noted_options.update(lower)

    def _watch_producers(self, patches: pytest.MonkeyPatch) -> None:
        addressed = self

        class Counting(confluent_kafka.Producer):
            def __init__(self, config: dict[str, Any], *args: Any, **kwargs: Any) -> None:
                super().__init__(config, *args, **kwargs)
                self._counts = config.get("bootstrap.servers") == addressed._servers
                self._is_plain = "transactional.id" not in config

            def produce(self, topic: str, *args: Any, **kwargs: Any) -> None:
                if self._counts:
                    addressed.told[topic] += 1
                    if not self._is_plain:  # markers have offsets, too
                        addressed.named.add(topic)
                super().produce(topic, *args, **kwargs)

        for module in _modules_with(confluent_kafka.Producer):
            patches.setattr(module, "Producer", Counting)
        self._blinding(patches, Producer)
        self._blinding(patches, subprocess.Popen)

    def _blinding(self, patches: pytest.MonkeyPatch, kind: type[Any]) -> None:
        init = kind.__init__

        def blind(self_: Any, *args: Any, **kwargs: Any) -> None:
            self.is_blind = True
            init(self_, *args, **kwargs)

        patches.setattr(kind, "__init__", blind)


def _modules_with(kind: type[Any]) -> list[Any]:
    """The modules that import the class by its name, and its own."""
    import sys  # noqa: PLC0415

    return [
        module
        for name, module in [*sys.modules.items()]
        if name.startswith(("tests.", "confluent_kafka"))
        and getattr(module, "Producer", None) is kind
    ]


def _lengths(servers: str, topics: Mapping[str, int]) -> dict[str, int]:
    """How many offsets each topic has had; topics that are gone are left out."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "lengths"})
    try:
        known = consumer.list_topics(timeout=30).topics
        return {
            topic: sum(
                consumer.get_watermark_offsets(
                    confluent_kafka.TopicPartition(topic, number), timeout=30
                )[1]
                for number in known[topic].partitions
            )
            for topic in topics
            if topic in known
        }
    finally:
        consumer.close()
