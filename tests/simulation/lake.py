"""A small model of a table format, a checkpoint and a driver that dies, for `topics_to_tables`.

The code under test is the product's: micro-batches, the writer, what late topics wait for, marks of
commits. The model has what is around it: a catalog, tables with atomic commits, files that are
replaced in two steps, and Spark's log of planned and finished micro-batches. Before and after each
effect the driver may die, or the client may get an error though the effect is there.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables import backfill, backfill_plan, kept, late, micro_batch, writer
from kafka_spark_source.tables.arguments import DEFAULT_METADATA, Rows, parse
from kafka_spark_source.tables.backfill import Backfills
from kafka_spark_source.tables.backfiller import Backfiller
from kafka_spark_source.tables.checkpoint import PlannedBefore
from kafka_spark_source.tables.commits import Marker
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.micro_batch import TablesOfMicroBatch
from kafka_spark_source.tables.progress import Progress
from kafka_spark_source.tables.ranges import to_row
from kafka_spark_source.tables.run import Run
from kafka_spark_source.tables.target import Prepared
from kafka_spark_source.tables.topic_table import TopicTable

TOPICS: Final = ("a", "b", "types")
TYPES: Final[Mapping[str, Sequence[str | None]]] = {"types": ("Order", "Payment")}
"""The record types of a topic, each with a table of its own."""
_FOLDER: Final = "/checkpoint"
_MOST_MICRO_BATCHES: Final = 20


class DriverDied(BaseException):
    """The driver is gone: nothing after it happens."""


class ClientError(Exception):
    """The storage did not respond; what was asked may have been done."""


@dataclass
class Trouble:
    """What goes wrong in a run.

    Attributes:
        dies_at: The step at which the driver dies; None if it does not.
        errors_at: Steps at which the client gets an error.
        away: Topics, and tables, that cannot be written.
        on_error: The argument of the query.
    """

    dies_at: int | None = None
    errors_at: frozenset[int] = frozenset()
    away: frozenset[str] = frozenset()
    on_error: str = "suspend"


@dataclass
class Lake:
    """All that survives a driver: tables, files, Spark's checkpoint; and the topics.

    Attributes:
        tables: Table -> its commits, each the mark and the offsets of its rows.
        planned: Micro-batch -> topic -> its range; finished: the ones that Spark takes for done.
        ends: Topic -> the end of its log.
        unasked: Topics whose tables were dropped, and of which no backfill was kept since.
        numbers: The time, as backfills keep it.
    """

    is_delta: bool
    tables: dict[str, list[tuple[Marker, list[int]]]] = field(default_factory=dict)
    files: dict[str, list[str]] = field(default_factory=dict)
    planned: list[dict[str, tuple[int, int]]] = field(default_factory=list)
    finished: set[int] = field(default_factory=set)
    ends: Counter[str] = field(default_factory=Counter)
    unasked: set[str] = field(default_factory=set)
    numbers: int = 0
    trouble: Trouble = field(default_factory=Trouble)
    steps: int = 0
    is_dead: bool = False
    now_ms: float = 0.0

    def step(self) -> None:
        """Where the driver may die, and a client get an error."""
        number, self.steps = self.steps, self.steps + 1
        if self.is_dead or number == self.trouble.dies_at:
            self.is_dead = True
            raise DriverDied
        if number in self.trouble.errors_at:
            raise ClientError(f"step {number}")

    @contextmanager
    def effect(self) -> Iterator[None]:
        """Something atomic, with a step on each side."""
        self.step()
        yield
        self.step()

    def tick(self) -> int:
        self.numbers += 1
        return self.numbers

    # The catalog and its tables.

    def prepare(self, name: str, topic: str) -> Prepared:
        if self.trouble.away & {topic, name}:
            raise TableError(f"the table {name} is away")
        is_new = name not in self.tables
        if is_new:
            with self.effect():
                self.tables[name] = []
        return Prepared(None, is_new)  # type: ignore[arg-type]

    def append(self, name: str, ranges: Sequence[PlannedRange], marker: Marker) -> None:
        offsets = [n for each in ranges for n in range(*each.wanted[1:])]
        commits = self.tables[name]
        with self.effect():
            of_query = [mark.batch_id for mark, _ in commits if mark.query_id == marker.query_id]
            newest = max(of_query, default=-1)
            if not (self.is_delta and newest >= marker.batch_id):
                commits.append((marker, offsets))

    def last_markers(
        self, target: Any, query_id: str, _since_ms: object, late_since: int | None
    ) -> list[Marker]:
        self.step()
        markers = []
        for mark, _ in reversed(self.tables[target.name]):
            if mark.query_id == query_id:
                markers.append(mark)
                if late_since is None or mark.batch_id < late_since:
                    break
        return markers

    def has_table(self, _spark: object, topic: str) -> bool:
        self.step()
        return any(table_of(topic, each) in self.tables for each in TYPES.get(topic, (None,)))

    def drop(self, topic: str) -> None:
        """Drop the tables of a topic; from now on runs are to fill them anew."""
        self.unasked.add(topic)
        for each in TYPES.get(topic, (None,)):
            self.tables.pop(table_of(topic, each), None)

    # Files.

    def exists(self, _spark: object, path: str) -> bool:
        self.step()
        return any(each.startswith(path) for each in self.files)

    def read_lines(self, _spark: object, path: str) -> list[str]:
        self.step()
        return self.files.get(path, [])

    def listed(self, _spark: object, path: str) -> tuple[list[str], list[str]]:
        """A file of the model is a folder with one file."""
        self.step()
        below = [each.removeprefix(f"{path}/") for each in self.files if f"{path}/" in each]
        return (["part"], []) if path in self.files else ([], below)

    def remove(self, _spark: object, path: str, _names: object) -> None:
        """As files are removed: the content goes first."""
        with self.effect():
            self.files[path] = []
        with self.effect():
            del self.files[path]

    def replace(self, path: str, lines: list[str]) -> None:
        """As Spark overwrites: what was there goes first."""
        with self.effect():
            self.files[path] = []
        with self.effect():
            self.files[path] = lines
            self.unasked -= {json.loads(each).get("topic") for each in lines}

    def session(self) -> Any:
        """What the product needs of a session."""

        def frame(rows: list[tuple[str]], _schema: str) -> Any:
            def text(path: str) -> None:
                self.replace(path, [each for (each,) in rows])

            mode = SimpleNamespace(text=text)
            write = SimpleNamespace(mode=lambda _: mode)
            return SimpleNamespace(coalesce=lambda _: SimpleNamespace(write=write))

        conf = SimpleNamespace(set=lambda *_: None)
        return SimpleNamespace(conf=conf, createDataFrame=frame)

    # Spark.

    def run(self, trouble: Trouble) -> None:
        """One run of the query: until the topics have no more, it fails, or its driver dies."""
        self.trouble, self.steps, self.is_dead = trouble, 0, False
        arguments = parse(
            {}, "{topic}", "delta" if self.is_delta else "iceberg", "append",
            **dict.fromkeys(("keys", "topic_options", "merge_options")),
            metadata=DEFAULT_METADATA, partition_by=(), cluster_by=(), properties={},
            on_error=trouble.on_error, threads=1,
        )  # fmt: skip
        before = PlannedBefore(len(self.planned) - 1, 0.0)
        with product_in(self), patch.object(micro_batch, "planned_before", lambda *_: before):
            # A job may be started again with or without the argument.
            asked = sorted(self.unasked if trouble.dies_at else {*TOPICS})
            progress, run, spark = Progress(), Run(), self.session()
            batches = TablesOfMicroBatch(arguments, _FOLDER, progress, run)
            backfiller = Backfiller(spark, arguments, Backfills(_FOLDER), run, progress)
            try:
                backfill_plan.plan_backfills(spark, arguments, _FOLDER, asked)
                batches.catch_up(spark)
                slices = self._slices(backfiller)
                self._micro_batches(batches, slices)
                for _ in slices:
                    pass
            except (DriverDied, ClientError, TableError):
                return

    def _slices(self, backfiller: Backfiller) -> Iterator[None]:
        """What the backfiller's thread does, a slice at each step."""
        for each in Backfills(_FOLDER).all(self.session()):
            try:
                yield from backfiller.fill(each)
            except (ClientError, TableError):
                continue

    def _micro_batches(self, batches: TablesOfMicroBatch, slices: Iterator[None]) -> None:
        for _ in range(_MOST_MICRO_BATCHES):
            batch_id = len(self.finished)
            if batch_id == len(self.planned):
                ranges = self._next_ranges()
                if not ranges:
                    return
                with self.effect():
                    self.planned.append(ranges)
            rows = [
                to_row(PlannedRange(OffsetRange(TopicPartition(topic, 0), *each), None))
                for topic, each in self.planned[batch_id].items()
            ]
            frame: Any = SimpleNamespace(sparkSession=self.session(), collect=lambda r=rows: r)
            next(slices, None)
            batches(frame, batch_id)
            self.now_ms += 70_000
            with self.effect():
                self.finished.add(batch_id)

    def _next_ranges(self) -> dict[str, tuple[int, int]]:
        """Up to two more offsets of each topic."""
        starts = self._ends_of(self.planned)
        ranges = {t: (starts[t], min(starts[t] + 2, self.ends[t])) for t in TOPICS}
        return {topic: each for topic, each in ranges.items() if each[0] < each[1]}

    def _ends_of(self, micro_batches: Sequence[dict[str, tuple[int, int]]]) -> Counter[str]:
        ends: Counter[str] = Counter()
        for each in micro_batches:
            ends.update({topic: until - start for topic, (start, until) in each.items()})
        return ends

    def last_finished(self, _spark: object, _checkpoint: str) -> tuple[int, Counter[str]]:
        self.step()
        return len(self.finished) - 1, self._ends_of(self.planned[: len(self.finished)])

    # The judge.

    def problems(self) -> list[str]:
        """What the tables have too much or too little of, when all has been written."""
        return [
            f"{name} has {sorted(had.items())}, and the log {end}"
            for name, end in self._wanted()
            for had in [Counter(n for _, offsets in self.tables.get(name, ()) for n in offsets)]
            if had != Counter(range(end))
        ]

    def _wanted(self) -> Iterator[tuple[str, int]]:
        for topic in TOPICS:
            for record_type in TYPES.get(topic, (None,)):
                yield table_of(topic, record_type), self.ends[topic]


def table_of(topic: str, record_type: str | None) -> str:
    """The name of a table."""
    return topic if record_type is None else f"{topic}_{record_type}"


@dataclass
class _Rows:
    """As `TopicTable`, with the offsets of records as their rows."""

    lake: Lake
    topic: str
    record_type: str | None
    kind: Rows = Rows.APPEND

    def table_columns(self, _spark: object) -> None:
        self.lake.step()

    def members(self) -> dict[str, list[str]]:
        return {}

    def write(
        self, target: Any, _present: object, ranges: Sequence[PlannedRange], marker: Marker
    ) -> None:
        self.lake.append(target.name, ranges, marker)


def _before(ends: Counter[str], _arguments: object, topics: Sequence[str]) -> list[PlannedRange]:
    wanted = (OffsetRange(TopicPartition(topic, 0), 0, ends[topic]) for topic in topics)
    return [PlannedRange(each, None) for each in wanted if not each.is_empty]


def _limit(_options: object) -> Any:
    """Slices of two offsets."""
    return SimpleNamespace(limits=SimpleNamespace(max_offsets=2))


@contextmanager
def product_in(lake: Lake) -> Iterator[None]:
    """The product's tables, with the model for what is outside of it."""

    def all_of(_arguments: object, topic: str) -> list[_Rows]:
        return [_Rows(lake, topic, each) for each in TYPES.get(topic, (None,))]

    def target(_self: object, _spark: object, topic: str, rows: _Rows) -> Any:
        name = table_of(topic, rows.record_type)
        return SimpleNamespace(
            name=name,
            topic=topic,
            layout=SimpleNamespace(provider=""),
            prepare=lambda *_: lake.prepare(name, topic),
        )

    with (
        patch.object(TopicTable, "all_of", all_of),
        patch.object(writer.TableWriter, "_target", target),
        patch.object(backfill, "now_ms", lake.tick),
        patch.object(writer.TableWriter, "has_table", lake.has_table),
        patch.object(writer, "last_markers", lake.last_markers),
        patch.multiple(
            backfill,
            exists=lake.exists,
            listed=lake.listed,
            remove=lake.remove,
        ),
        patch.multiple(
            backfill_plan,
            finished=lake.last_finished,
            _before=_before,
            parse_stream_options=_limit,
        ),
        patch.object(late, "exists", lake.exists),
        patch.object(kept, "read_lines", lake.read_lines),
        patch.object(micro_batch, "query_id", lambda *_: "q"),
        patch.object(micro_batch, "inheritable_thread_target", lambda _: lambda call: call),
        patch.object(micro_batch, "monotonic_ms", lambda: lake.now_ms),
    ):
        yield


def drawn(rng: random.Random) -> Trouble:
    """The trouble of a run."""
    dies = rng.random() < 0.7
    return Trouble(
        rng.randrange(60) if dies else None,
        frozenset(rng.sample(range(60), rng.choice((0, 0, 1, 3)))),
        frozenset(each for each in (*TOPICS, "types_Order") if rng.random() < 0.3),
        rng.choice(("suspend", "suspend", "fail")),
    )


def problems_of(seed: int, *, is_delta: bool) -> list[str]:
    """What is wrong after the life of a seed."""
    try:
        return _lived(seed, is_delta=is_delta)
    except StopIteration:
        return ["there was no file for a new state"]


def _lived(seed: int, *, is_delta: bool) -> list[str]:
    """Runs with trouble, and then runs without, after which tables must have all."""
    rng, lake = random.Random(seed), Lake(is_delta)
    for _ in range(rng.randrange(1, 7)):
        lake.ends.update({topic: rng.randrange(4) for topic in TOPICS})
        if rng.random() < 0.25:
            lake.drop(rng.choice(TOPICS))
        lake.run(drawn(rng))
    # Without a new record, then with one.
    for more in (0, 1):
        lake.ends.update(dict.fromkeys(TOPICS, more))
        lake.run(Trouble(on_error=rng.choice(("suspend", "fail"))))
        if problems := lake.problems():
            return problems
    return []
