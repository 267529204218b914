"""Streaming queries through both connectors, seen batch by batch; topics that change under them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka.admin import NewPartitions
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamReader

from kafka_spark_source.testing.waiting import Deadline
from tests.conformance.sides import OURS, PARTITION, POSITION, THEIRS, dotted, text_of
from tests.conformance.topics import SOON_SECONDS, Topics, numbered

Spans = dict[str, tuple[int, int]]
"""What a batch had of each topic-partition: `{"topic-0": (first offset, last offset + 1)}`."""

Action = Callable[[], object]

# For what each does alone. Spark's connector is always the same one, so what is written of it here
# needs no proof each time.
both: Final = pytest.mark.parametrize(
    "connector", [pytest.param(THEIRS, marks=pytest.mark.slow), OURS]
)

# What must not be in an offset log: Spark's connector cannot go on from there (SPARK-41375).
NO_OFFSETS: Final = ("{}", "null")


class Stream:
    """A query, and what came of it, over all its runs.

    Args:
        df: What it reads.
        checkpoint: Where it remembers how far it came.

    Attributes:
        batches: The rows of each batch that had any.
    """

    def __init__(self, df: DataFrame, checkpoint: Path) -> None:
        self._df = df
        self._checkpoint = checkpoint
        self._batch_errors: list[str] = []
        self.batches: list[list[Row]] = []

    @property
    def rows(self) -> list[Row]:
        """Those of all batches, by partition and offset."""
        return sorted(itertools.chain.from_iterable(self.batches), key=POSITION)

    @property
    def spans(self) -> list[Spans]:
        """Those of each batch that had any rows."""
        return [spans_of(rows) for rows in self.batches]

    @property
    def log(self) -> list[list[str]]:
        """The offset log as it is written: for each batch a line for each source."""
        files = (self._checkpoint / "offsets").glob("[0-9]*")
        in_order = sorted(files, key=lambda file: int(file.name))
        return [file.read_text().splitlines()[2:] for file in in_order]

    @property
    def ends(self) -> list[dict[str, dict[str, int]]]:
        """The same of a query's only source, read."""
        return [json.loads(line) for (line,) in self.log]

    def start(self, *after: Action, **trigger: Any) -> StreamingQuery:
        """Start it, or go on from where its checkpoint says.

        Args:
            after: What to do after the first batch with rows, before another one is planned; after
                the second one; and so on.
            trigger: As `DataStreamWriter.trigger` takes it.
        """
        actions = iter(after)

        def keep(df: DataFrame, _batch_id: int) -> None:
            try:
                rows = df.collect()
            except (PySparkException, Py4JJavaError) as error:
                # On its way back through the JVM it loses its causes.
                self._batch_errors.append(text_of(error))
                raise
            if rows:
                self.batches.append(rows)
                next(actions, _nothing)()

        writer = self._df.writeStream.foreachBatch(keep)
        if trigger:
            writer = writer.trigger(**trigger)
        return writer.option("checkpointLocation", str(self._checkpoint)).start()

    @contextmanager
    def running(self, *after: Action, **trigger: Any) -> Iterator[StreamingQuery]:
        """Let it run for a while, with the default trigger if none is given."""
        query = self.start(*after, **trigger)
        try:
            yield query
        finally:
            query.stop()
        assert not {line for lines in self.log for line in lines}.intersection(NO_OFFSETS)

    def run(self, *after: Action, **trigger: Any) -> Stream:
        """Let it run until it ends by itself: with `availableNow`, if no trigger is given."""
        with self.running(*after, **(trigger or {"availableNow": True})) as query:
            assert query.awaitTermination(SOON_SECONDS)
        return self

    def until(self, batches: int, *after: Action) -> Stream:
        """Let it run until it has had so many batches with rows, and finds no more.

        pykafka looks for new topics once a second, so that it may find no more too early.
        """
        with self.running(*after) as query:
            assert Deadline(SOON_SECONDS).wait_for(
                lambda: len(self.batches) >= batches or not query.isActive
            )
            query.processAllAvailable()
        return self

    def wait_for_rows(self, count: int) -> None:
        """Wait until it has had so many."""
        assert Deadline(SOON_SECONDS).wait_for(lambda: len(self.rows) >= count)

    def error(self, *after: Action, **trigger: Any) -> str:
        """What it says when it fails, as it must; the arguments are those of `run`."""
        with pytest.raises(StreamingQueryException) as caught:
            self.run(*after, **trigger)
        thrown = Py4JJavaError("", caught.value._origin)  # type: ignore[attr-defined]
        return "\n".join([text_of(thrown), *self._batch_errors])


def _nothing() -> None:
    pass


def spans_of(rows: list[Row]) -> Spans:
    """What there is of each topic-partition."""
    spans = {}
    for (topic, partition), group in itertools.groupby(sorted(rows, key=POSITION), PARTITION):
        offsets = [row["offset"] for row in group]
        spans[f"{topic}-{partition}"] = (offsets[0], offsets[-1] + 1)
    return spans


class Streams:
    """Makes queries over the same topics, through either connector.

    Args:
        spark: A session that has both.
        servers: Where the topics are.
        folder: For the checkpoints.
    """

    def __init__(self, spark: SparkSession, servers: str, folder: Path) -> None:
        self._spark = spark
        self._options = {"kafka.bootstrap.servers": servers}
        self._checkpoints = (folder / f"checkpoint-{number}" for number in itertools.count())

    def reader(self, connector: str, options: Mapping[str, str | None]) -> DataStreamReader:
        """A reader of one of them; an option of None is left out."""
        merged = self._options | dict(options)
        given = {name: value for name, value in merged.items() if value is not None}
        return self._spark.readStream.format(connector).options(**given)

    def load(self, connector: str, **options: str) -> DataFrame:
        """The rows of one of them, from earliest; `kafka__group__id` has dots for `__`."""
        return self.reader(connector, {"startingOffsets": "earliest", **dotted(options)}).load()

    def of(self, df: DataFrame) -> Stream:
        """A query that does not run yet, with a checkpoint of its own."""
        return Stream(df, next(self._checkpoints))

    def make(self, connector: str, **options: str) -> Stream:
        """A query that takes all rows, from earliest."""
        return self.of(self.load(connector, **options))


_numbers = itertools.count(1)


class LiveTopics(Topics):
    """Topics that no other test knows, so that they can change under a query."""

    def name(self) -> str:
        """One that is no part of any other."""
        return f"live-{next(_numbers)}-"

    def fill(self, *counts: int, name: str | None = None) -> str:
        """A topic with so many records in partition 0, in partition 1, and so on."""
        topic = self.make(name or self.name(), partitions=len(counts))
        for partition, count in enumerate(counts):
            self.write(topic, numbered(count, partition))
        return topic

    def grow(self, topic: str, partitions: int) -> None:
        """Add partitions until there are so many."""
        created = self._admin.create_partitions([NewPartitions(topic, partitions)])
        created[topic].result(SOON_SECONDS)
        self._until(lambda: len(self._metadata()[topic].partitions) == partitions)

    def delete(self, topic: str) -> None:
        """Delete it."""
        self._admin.delete_topics([topic])[topic].result(SOON_SECONDS)
        self._until(lambda: topic not in self._metadata())

    def recreate(self, topic: str, *counts: int) -> None:
        """Delete it, and fill another one of the same name."""
        self.delete(topic)
        self.fill(*counts, name=topic)

    def commit_open_transaction(self) -> None:
        """Commit the transaction that was left open last."""
        self._open.pop().commit_transaction(SOON_SECONDS)

    def _metadata(self) -> dict[str, Any]:
        return self._admin.list_topics(timeout=SOON_SECONDS).topics
