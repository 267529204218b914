"""Writes lines to a topic as they arrive: they are acknowledged before the next are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from kafka_protocol.arrow_io.row_writer import RowWriter
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.rights import check_may_write
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.partitioners import DEFAULT
from kafka_spark_source.planning.offsets_json import join_partitions
from kafka_spark_source.tools.positions.positions import partitions_of
from kafka_spark_source.tools.records.encoding import COLUMNS, Encoding
from kafka_spark_source.tools.records.lines import BrokenLineError, Line, form_of, read_lines

# Lines that are there are written together, up to this size.
_BLOCK_BYTES: Final = 1024 * 1024
_LINE_END: Final = b"\n"


class Stream(Protocol):
    """A stream of bytes: a file, a pipe or a terminal."""

    def read1(self, size: int, /) -> bytes:
        """The bytes that are there, and at least one, up to a size; none at the end."""


class Block(NamedTuple):
    """The records of some lines, and the line that ended them.

    Attributes:
        lines: In their order.
        last_number: That of the last line that was read.
        broken: The error of the line after `lines`; None if there is none.
    """

    lines: Sequence[Line]
    last_number: int
    broken: BrokenLineError | None = None


def check_topic(cluster: Cluster, topic: str, partition: int | None, deadline: Deadline) -> None:
    """Check that records can be written to a topic, as far as brokers report rights.

    Raises:
        BrokerError: The topic does not exist, or the principal may not describe it or write to it.
        KafkaConfigError: The partition does not exist.
        KafkaError: No broker can be reached.
    """
    partitions = partitions_of(cluster, [topic], deadline)
    if partition is not None and all(partition != each.partition for each in partitions):
        raise KafkaConfigError(
            f"There is no partition {partition} of {topic!r}; there are "
            f"{join_partitions(partitions)}."
        )
    check_may_write(cluster, topic, deadline)


def blocks_of(stream: Stream, form: str | None, encoding: Encoding) -> Iterator[Block]:
    """The records of a stream as they arrive. The last block may have an error.

    Args:
        stream: The lines.
        form: One of `FORMS`; None if the first line decides.
        encoding: Says which columns have a format.
    """
    number = 1
    for texts in _line_blocks(stream):
        form = form or form_of(texts[0])
        lines: list[Line] = []
        try:
            for line in read_lines(texts, form, encoding.encoders, number):
                lines.append(line)  # noqa: PERF402 - lines before a broken one count
        except BrokenLineError as error:
            yield Block(lines, error.number - 1, error)
            return
        number += len(texts)
        yield Block(lines, number - 1)


def check_lines(stream: Stream, form: str | None, encoding: Encoding) -> None:
    """Read all lines of a stream, and encode their records.

    Raises:
        BrokenLineError: A line is broken.
    """
    for block in blocks_of(stream, form, encoding):
        encoding.encode(block.lines, None)
        if block.broken is not None:
            raise block.broken


def _line_blocks(stream: Stream) -> Iterator[Sequence[bytes]]:
    """Complete lines without their ends, as many as have arrived; the last needs no end."""
    begun: list[bytes] = []
    while data := stream.read1(_BLOCK_BYTES):
        first, *others = data.split(_LINE_END)
        begun.append(first)
        if others:
            yield [b"".join(begun), *others[:-1]]
            begun = [others[-1]]
    if any(begun):
        yield [b"".join(begun)]


class LineWriter:
    """Writes the records of lines.

    Attributes:
        records: The number of records that are acknowledged.
        last_number: The last line whose record is, with all before it.
    """

    def __init__(
        self, cluster: Cluster, topic: str, partition: int | None, encoding: Encoding
    ) -> None:
        self._rows = RowWriter(COLUMNS, topic, DEFAULT, cluster.config)
        self._producer = Producer(cluster)
        self._partition = partition
        self._encoding = encoding
        self.records = 0
        self.last_number = 0

    def write(self, block: Block) -> None:
        """Write a block; returns when its records are acknowledged.

        Raises:
            BrokenLineError: A line is broken. The lines before it are written.
            KafkaError: A broker refused a record, or cannot be reached. Some may be written.
        """
        broken = block.broken
        lines, last_number = block.lines, block.last_number
        try:
            rows = self._encoding.encode(lines, self._partition)
        except BrokenLineError as error:
            broken, last_number = error, error.number - 1
            lines = [each for each in lines if each.number < error.number]
            rows = self._encoding.encode(lines, self._partition)
        if rows.num_rows:
            try:
                added = self._rows.add([rows], self._producer)
                self._producer.flush()
            except BaseException:
                self._producer.abandon()
                raise
            self.records += added
        self.last_number = last_number
        if broken is not None:
            raise broken
