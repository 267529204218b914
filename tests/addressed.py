"""An instrument: at the end of a test no topic has a record that nobody addressed to it.

Judges topics that no write names: the sources of a test. At its end they must be as long as before
it and what librdkafka's producers of the test process were told to write. Writes that this process
does not see (our own client in it, other processes) and writes by a column `topic` address any
topic; a test with such a write is not judged. Of other processes only the jobs in `tests/jobs` tell
what they name: `note_names` runs in them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from pyspark.sql import DataFrameReader, DataFrameWriter, DataFrameWriterV2, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

from kafka_protocol.client.producer.producer import Producer
from tests.truth.addressed import longer

_SERVERS: Final = "kafka.bootstrap.servers"
_WRITERS: Final = (DataFrameWriter, DataFrameWriterV2, DataStreamWriter)
_READERS: Final = (DataFrameReader, DataStreamReader)
# Options that name a topic to write to.
_NAMES: Final = frozenset({"topic", "deadlettertopic", "commitlogtopic"})
_NAMED_IN_SQL: Final = re.compile(r"\btopic'?\s*=?\s*'([^']+)'", re.IGNORECASE)
# Statements whose options are those of a write.
_WRITES_IN_SQL: Final = re.compile(r"\bVIEW\b|\bWITH\s*\(", re.IGNORECASE)
# What these processes name is in files of this folder.
_JOBS: Final = "tests.jobs."
_FOLDER: Final = "PYKAFKA_TESTS_ADDRESSED"
_BLIND: Final = "any topic"
# Of the brokers, and the default of commitLogTopic.
_INTERNAL: Final = ("__", "pykafka-commit-log")
_SECONDS: Final = 30


@contextmanager
def all_addressed(servers: str) -> Iterator[Addressed]:
    """At the end of the block no topic has a record that nobody addressed to it."""
    with pytest.MonkeyPatch.context() as patches, tempfile.TemporaryDirectory() as folder:
        patches.setenv(_FOLDER, folder)
        addressed = Addressed(servers, patches)
        yield addressed
        addressed.note_jobs(Path(folder))
        misdirected = addressed.misdirected()
    assert not misdirected, f"records that nobody addressed to the topics: {misdirected}"


def judges_tests_with(cluster: str) -> Any:
    """An autouse fixture for tests with Spark and brokers: their sources get no more records.

    Args:
        cluster: The name of the fixture of the brokers, a `KafkaCluster`.
    """

    @pytest.fixture(autouse=True)
    def rows_go_where_they_are_addressed(request: pytest.FixtureRequest) -> Iterator[None]:
        if not {"spark", cluster} <= {*request.fixturenames}:
            yield
            return
        with all_addressed(request.getfixturevalue(cluster).bootstrap_servers):
            yield

    return rows_go_where_they_are_addressed


def note_names() -> None:
    """In a job: write down what the writes of this process name, for the test that started it."""
    folder = os.environ.get(_FOLDER)
    if folder is not None:
        Addressed("", pytest.MonkeyPatch(), Path(folder) / f"{os.getpid()}.json")


class Addressed:
    """Who was told to write where on some brokers, from now until the patches end.

    Attributes:
        told: The records that librdkafka's producers were told to write, by topic.
        named: The topics that writes name.
        is_blind: Whether there was a write that addresses topics which are not known here.

    Args:
        servers: The brokers to judge; empty in a job.
        patches: Take the instrument away again.
        file: Of a job: gets what its writes name.
    """

    def __init__(self, servers: str, patches: pytest.MonkeyPatch, file: Path | None = None) -> None:
        self.told: Counter[str] = Counter()
        self.named: set[str] = set()
        self.is_blind = False
        self._servers = servers
        self._file = file
        self._names_in_file = 0
        self._before = _ends(servers) if servers else {}
        self._of_writers: list[dict[str, str]] = []
        self._watch_spark(patches)
        self._watch_producers(patches)

    def misdirected(self) -> dict[str, tuple[int, int]]:
        """The topics with more new records than they should have: how many, and how many."""
        if self.is_blind or self._writes_by_column():
            return {}
        grown: Counter[str] = Counter()
        starts: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for (topic, number), end in _ends(self._servers).items():
            start = starts[topic][number] = self._before.get((topic, number), 0)
            grown[topic] += end - start
        wanted = {topic: self.told[topic] for topic in grown if topic not in self.named}
        # The marker of a transaction has an offset, too. An earlier test's may come at any time.
        found = {
            each: _records(self._servers, each, starts[each]) for each in longer(grown, wanted)
        }
        return longer(found, wanted)

    def note_jobs(self, folder: Path) -> None:
        """What jobs have named, which ended before this."""
        for file in folder.iterdir():
            names = json.loads(file.read_text())
            self.is_blind |= _BLIND in names
            self.named |= {*names}

    def _writes_by_column(self) -> bool:
        return any(_SERVERS in each and "topic" not in each for each in self._of_writers)

    def _tell(self) -> None:
        """Of a job: after each option, because it may be killed at any time."""
        names = [*self.named, *[_BLIND] * self.is_blind]
        if self._file is not None and len(names) > self._names_in_file:
            self._names_in_file = len(names)
            temporary = self._file.parent.parent / f"{self._file.parent.name}-{self._file.name}"
            temporary.write_text(json.dumps(names))
            temporary.replace(self._file)

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
                self._tell()
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
        self._tell()

    def _watch_producers(self, patches: pytest.MonkeyPatch) -> None:
        addressed = self

        class Counting(confluent_kafka.Producer):
            def __init__(self, config: dict[str, Any], *args: Any, **kwargs: Any) -> None:
                super().__init__(config, *args, **kwargs)
                servers = config.get("bootstrap.servers")
                self._counts = servers == addressed._servers or not addressed._servers
                self._is_plain = "transactional.id" not in config

            def produce(self, topic: str, *args: Any, **kwargs: Any) -> None:
                if self._counts:
                    addressed.told[topic] += 1
                    # Markers have offsets, too; and who started a job does not know its counts.
                    if not self._is_plain or not addressed._servers:
                        addressed.named.add(topic)
                        addressed._tell()
                super().produce(topic, *args, **kwargs)

        for module, name in _names_of(confluent_kafka.Producer):
            patches.setattr(module, name, Counting)
        self._blinding(patches, Producer, lambda _arguments: True)
        self._blinding(patches, subprocess.Popen, _may_write)

    def _blinding(
        self,
        patches: pytest.MonkeyPatch,
        kind: type[Any],
        blinds: Callable[[tuple[Any, ...]], bool],
    ) -> None:
        init = kind.__init__

        def blind(self_: Any, *args: Any, **kwargs: Any) -> None:
            if blinds(args) and not self.is_blind:
                self.is_blind = True
                self._tell()
            init(self_, *args, **kwargs)

        patches.setattr(kind, "__init__", blind)


def _may_write(arguments: tuple[Any, ...]) -> bool:
    """Whether a process may write into topics without a word about it."""
    command = arguments[0] if arguments else ()
    words = [command] if isinstance(command, str) else [*map(str, command)]
    is_java = "java" in Path(words[0]).name if words else False
    # Spark's JVM writes what this process tells it; of jobs their files tell.
    return not (is_java or "spark-submit" in " ".join(words) or _is_job(words))


def _is_job(words: list[str]) -> bool:
    return any(each.startswith(_JOBS) for each in words)


def _names_of(kind: type[Any]) -> list[tuple[ModuleType, str]]:
    """The modules that have the class, its own and tests that import it, and its name there."""
    import sys  # noqa: PLC0415

    return [
        (module, name)
        for full_name, module in [*sys.modules.items()]
        if full_name.startswith(("tests.", "confluent_kafka"))
        for name, value in [*vars(module).items()]
        if value is kind
    ]


def lengths(servers: str) -> dict[str, int]:
    """How many offsets each topic of some brokers has had, except internal ones."""
    found: Counter[str] = Counter()
    for (topic, _), end in _ends(servers).items():
        found[topic] += end
    return dict(found)


def _ends(servers: str) -> dict[tuple[str, int], int]:
    """The end of each log, by topic and partition, except of internal topics."""
    with closing(_consumer(servers)) as consumer:
        topics = consumer.list_topics(timeout=_SECONDS).topics
    client = AdminClient({"bootstrap.servers": servers})
    latest: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    places = {
        confluent_kafka.TopicPartition(name, number): latest
        for name, topic in topics.items()
        if not name.startswith(_INTERNAL) and topic.error is None
        for number in topic.partitions
    }
    found: dict[tuple[str, int], int] = {}
    level = confluent_kafka.IsolationLevel.READ_UNCOMMITTED
    for place, end in client.list_offsets(places, isolation_level=level).items():
        with suppress(confluent_kafka.KafkaException):  # it is just deleted, or has no leader
            found[place.topic, place.partition] = max(end.result(timeout=_SECONDS).offset, 0)
    return found


def _records(servers: str, topic: str, starts: Mapping[int, int]) -> int:
    """How many records a topic has from these offsets of its partitions on."""
    count, unread = 0, len(starts)
    with closing(_consumer(servers)) as consumer:
        consumer.assign([confluent_kafka.TopicPartition(topic, *each) for each in starts.items()])
        while unread:
            message = consumer.poll(_SECONDS)
            if message is None:
                raise TimeoutError(f"the end of {topic} is not read within {_SECONDS} s")
            error = message.error()
            if error is None:
                count += 1
            elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                unread -= 1
            else:
                raise confluent_kafka.KafkaException(error)
    return count


def _consumer(servers: str) -> confluent_kafka.Consumer:
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "addressed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_uncommitted",
        }
    )
