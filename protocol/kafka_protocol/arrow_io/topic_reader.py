"""Reads of topics that know their positions: for consumer groups, and for reads without an end.

Does not join groups: a read starts at the offsets of a group, and `commit()` moves them to where
the next read starts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from types import TracebackType
from typing import Any, Final

import pyarrow as pa

from kafka_protocol.client.clock import Deadline, sleep_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.groups import commit_offsets
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.read_topics import ReadTopics
from kafka_protocol.columnar.reading.batch_columns import take_batch_columns
from kafka_protocol.columnar.reading.decode import decode_batches, target_bytes_of
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition

# How often a read that follows looks for new records.
_POLL_MS: Final = 200

Progress = Callable[[int, int], None]


class Reading:
    """The records of ranges, partition by partition, and then the later records.

    Args:
        cluster: It is closed at the end.
        topics: The topics of the ranges.
        ranges: What to read first.
        columns: Names of `RECORD_SCHEMA`.
        progress: Is called after a Fetch with the number of offsets that are read, and of all.
        follows: Whether to continue with later records, without an end.
    """

    def __init__(  # noqa: PLR0913 - the read of a user
        self,
        cluster: Cluster,
        topics: ReadTopics,
        ranges: Sequence[OffsetRange],
        columns: Sequence[str],
        progress: Progress | None,
        *,
        follows: bool,
    ) -> None:
        self.config = cluster.config
        self.positions = {each.topic_partition: each.from_offset for each in ranges}
        self._cluster = cluster
        self._topics = topics
        self._ranges = ranges
        self._columns = columns
        self._progress = progress
        self._follows = follows
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End after the batch that is being read, also from another thread."""
        self._stopped.set()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The records, once. `positions` are the offsets after the batches before."""
        ranges = [each for each in self._ranges if each.from_offset < each.until_offset]
        try:
            while True:
                yield from self._read(ranges)
                if not self._follows or self._stopped.is_set():
                    return
                ranges = self._topics.new_ranges(self.positions)
                if not ranges:
                    sleep_ms(_POLL_MS)
        finally:
            self._cluster.close()

    def _read(self, ranges: Sequence[OffsetRange]) -> Iterator[pa.RecordBatch]:
        done, total = 0, sum(each.size for each in ranges)
        for each in ranges:
            fetches = self._topics.fetch(each, self.config.api_timeout_ms, take_batch_columns)
            for fetched in fetches:
                yield from decode_batches(
                    [fetched],
                    self._columns,
                    max_decompressed_bytes=self.config.max_decompressed_bytes,
                    target_bytes=target_bytes_of(self.config.max_partition_fetch_bytes),
                )
                position = min(fetched.batches[-1].header.next_offset, each.until_offset)
                del fetched  # so that the next response can have its memory
                self._advance(each, position, done, total)
                if self._stopped.is_set():
                    return
            # A range may end in offsets without records.
            self._advance(each, each.until_offset, done, total)
            done += each.size

    def _advance(self, each: OffsetRange, position: int, done: int, total: int) -> None:
        is_new = position > self.positions.get(each.topic_partition, -1)
        self.positions[each.topic_partition] = position
        if self._progress is not None and is_new:
            self._progress(done + position - each.from_offset, total)


class TopicReader:
    """Batches of topics, for one pass, and the positions after them.

    It is what `read_topic` returns for a group, or with `follow`. Arrow's C stream interface makes
    it an argument of Polars, DuckDB and pyarrow; `reader` is the same as a
    `pyarrow.RecordBatchReader`.

    Attributes:
        reader: The batches.
    """

    def __init__(
        self,
        schema: pa.Schema,
        batches: Iterable[pa.RecordBatch],
        reading: Reading,
        group_id: str | None,
        *,
        is_whole: bool = False,
    ) -> None:
        self._batches = self._noting_the_end(batches)
        self.reader = pa.RecordBatchReader.from_batches(schema, self._until_closed())
        self._reading = reading
        self._group_id = group_id
        self._is_whole = is_whole
        self._has_ended = False

    def with_rows(
        self, schema: pa.Schema, rows: Iterable[pa.RecordBatch], *, is_whole: bool
    ) -> TopicReader:
        """The same read, with rows that are made of its batches.

        Args:
            schema: The schema of the rows.
            rows: Made by iterating over this reader, once.
            is_whole: Whether all of the batches are taken before the first row is given out.
        """
        return TopicReader(schema, rows, self._reading, self._group_id, is_whole=is_whole)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        return self.reader.schema

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """The next offset of each partition, after the batches that were taken and done with.

        A batch is done with when the next one is requested, or the end is reached.
        """
        return dict(self._reading.positions)

    def commit(self) -> None:
        """Commit the positions for the group: the next read of the group starts there.

        Call it when the rows are stored. A read that ends before `commit()` is repeated.

        Raises:
            KafkaConfigError: There is no group; or rows of an envelope are left, each of which may
                be before the positions.
            BrokerError: The group has members, or the principal may not write its offsets.
            KafkaError: The coordinator cannot be reached. The offsets may be committed.
        """
        if self._group_id is None:
            raise KafkaConfigError("There is no group to commit for: give group_id to read_topic.")
        if self._is_whole and not self._has_ended:
            raise KafkaConfigError(
                "Rows are left that the offsets of the group would skip: commit after the last one."
            )
        config: ClientConfig = self._reading.config
        with closing(Cluster(config)) as cluster:
            deadline = Deadline.after(config.api_timeout_ms)
            if self._reading.positions:
                commit_offsets(cluster, self._group_id, self._reading.positions, deadline)

    def stop(self) -> None:
        """End a read with `follow` after the batches in flight. Any thread may call it."""
        self._reading.stop()

    def close(self) -> None:
        """End the read, and close its connections."""
        # Arrow's own close() leaves the iterator open.
        self._batches.close()

    def read_all(self) -> pa.Table:
        """All rows that are left, as one table."""
        return self.reader.read_all()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Give out the batches that are left."""
        return iter(self.reader)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Arrow's C stream of the batches that are left."""
        return self.reader.__arrow_c_stream__(requested_schema)

    def __enter__(self) -> TopicReader:
        """Begin a block at whose end the connections are closed."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    def _until_closed(self) -> Iterator[pa.RecordBatch]:
        yield from self._batches
        if not self._has_ended:
            # Rows that are left would be missing, as if the topic had none.
            raise KafkaConfigError("The reader is closed: read all rows before its block ends.")

    def _noting_the_end(
        self, batches: Iterable[pa.RecordBatch]
    ) -> Generator[pa.RecordBatch, None, None]:
        yield from batches
        self._has_ended = True
