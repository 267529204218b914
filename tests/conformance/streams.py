"""Streaming queries through both connectors, batch by batch, and topics that change meanwhile."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamReader

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.conformance.sides import OURS, PARTITION, POSITION, THEIRS, dotted, text_of
from tests.conformance.topics import SOON_SECONDS, Topics, numbered

Spans = dict[str, tuple[int, int]]
"""The offsets of a batch in each topic-partition: `{"topic-0": (first offset, last + 1)}`."""

Action = Callable[[], object]

# For tests that need only one connector. Spark's own does not change: `make test-all` checks it.
both: Final = pytest.mark.parametrize(
    "connector", [pytest.param(THEIRS, marks=pytest.mark.slow), OURS]
)

# Must not be in an offset log: Spark's connector cannot continue from them (SPARK-41375).
NO_OFFSETS: Final = ("{}", "null")


class Stream:
    """A streaming query that reads `df`, and the results of all its runs.

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
        """The rows of all batches, by partition and offset."""
        return sorted(itertools.chain.from_iterable(self.batches), key=POSITION)

    @property
    def spans(self) -> list[Spans]:
        """The offsets of each batch that had rows."""
        return [spans_of(rows) for rows in self.batches]

    @property
    def log(self) -> list[list[str]]:
        """The text of the offset log: for each batch, a line for each source."""
        files = (self._checkpoint / "offsets").glob("[0-9]*")
        in_order = sorted(files, key=lambda file: int(file.name))
        return [file.read_text().splitlines()[2:] for file in in_order]

    @property
    def ends(self) -> list[dict[str, dict[str, int]]]:
        """The offset log of a query with one source, parsed."""
        return [json.loads(line) for (line,) in self.log]

    def start(self, *after: Action, **trigger: Any) -> StreamingQuery:
        """Start the query, or continue from its checkpoint, with this `DataStreamWriter.trigger`.

        The first action runs after the first batch with rows and before the next batch is planned,
        the second one after the second batch, and so on.
        """
        actions = iter(after)

        def keep(df: DataFrame, _batch_id: int) -> None:
            try:
                rows = df.collect()
            except (PySparkException, Py4JJavaError) as error:
                # The JVM does not pass on its causes.
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
        """Run the query during the block, with the default trigger if none is given."""
        query = self.start(*after, **trigger)
        try:
            yield query
        finally:
            query.stop()
        assert not {line for lines in self.log for line in lines}.intersection(NO_OFFSETS)

    def run(self, *after: Action, **trigger: Any) -> Stream:
        """Run the query until it ends: with `availableNow` if no trigger is given."""
        with self.running(*after, **(trigger or {"availableNow": True})) as query:
            assert query.awaitTermination(SOON_SECONDS)
        return self

    def until(self, batches: int, *after: Action) -> Stream:
        """Run the query until it had so many batches with rows and has read all records.

        pykafka looks for new topics once a second, so `processAllAvailable` alone returns early.
        """
        with self.running(*after) as query:
            assert Deadline(SOON_SECONDS).wait_for(
                lambda: len(self.batches) >= batches or not query.isActive
            )
            query.processAllAvailable()
        return self

    def wait_for_rows(self, count: int) -> None:
        """Wait until at least `count` rows have been read."""
        assert Deadline(SOON_SECONDS).wait_for(lambda: len(self.rows) >= count)

    def error(self, *after: Action, **trigger: Any) -> str:
        """The error text of the query, which must fail; the arguments are those of `run`."""
        with pytest.raises(StreamingQueryException) as caught:
            self.run(*after, **trigger)
        thrown = Py4JJavaError("", caught.value._origin)  # type: ignore[attr-defined]
        return "\n".join([text_of(thrown), *self._batch_errors])


def _nothing() -> None:
    pass


def spans_of(rows: list[Row]) -> Spans:
    """The offsets of rows in each topic-partition."""
    spans = {}
    for (topic, partition), group in itertools.groupby(sorted(rows, key=POSITION), PARTITION):
        offsets = [row["offset"] for row in group]
        spans[f"{topic}-{partition}"] = (offsets[0], offsets[-1] + 1)
    return spans


class Streams:
    """Makes queries over the same topics, through either connector of a session that has both."""

    def __init__(self, spark: SparkSession, servers: str, folder: Path) -> None:
        self._spark = spark
        self._options = {"kafka.bootstrap.servers": servers}
        self._checkpoints = (folder / f"checkpoint-{number}" for number in itertools.count())

    def reader(self, connector: str, options: Mapping[str, str | None]) -> DataStreamReader:
        """A reader through one connector; an option of None is left out."""
        merged = self._options | dict(options)
        given = {name: value for name, value in merged.items() if value is not None}
        return self._spark.readStream.format(connector).options(**given)

    def load(self, connector: str, **options: str) -> DataFrame:
        """The rows of one connector, from earliest; `__` in an option stands for a dot."""
        return self.reader(connector, {"startingOffsets": "earliest", **dotted(options)}).load()

    def of(self, df: DataFrame) -> Stream:
        """A query with a new checkpoint, not started yet."""
        return Stream(df, next(self._checkpoints))

    def make(self, connector: str, **options: str) -> Stream:
        """A query that reads all rows, from earliest."""
        return self.of(self.load(connector, **options))


_numbers = itertools.count(1)


class LiveTopics(Topics):
    """Topics that no other test uses, so that they can change under a query."""

    def name(self) -> str:
        """A new name, which is a part of no other name."""
        return f"live-{next(_numbers)}-"

    def fill(self, *counts: int, name: str | None = None) -> str:
        """A topic with `counts[n]` records in partition n."""
        topic = self.make(name or self.name(), partitions=len(counts))
        for partition, count in enumerate(counts):
            self.write(topic, numbered(count, partition))
        return topic

    def grow(self, topic: str, partitions: int) -> None:
        """Increase the number of partitions."""
        self._admin.add_partitions(topic, partitions)

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self._admin.delete(topic)
        self._until(lambda: topic not in self._admin.topics())

    def recreate(self, topic: str, *counts: int) -> None:
        """Delete a topic, and fill a new one of the same name."""
        self.delete(topic)
        self.fill(*counts, name=topic)

    def commit_open_transaction(self) -> None:
        """Commit the last open transaction."""
        self._open.pop().commit_transaction(SOON_SECONDS)
