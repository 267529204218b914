"""The checkpoint of a query, read as files: the offsets of each micro-batch, and whether it ended.

Nothing is written here: that is `rewind`; `planning.offsets_json` parses the offsets. Source:
Spark's `OffsetSeqLog` (versions 1 and 2) and `CommitLog`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.offsets_json import offsets_from_log
from kafka_spark_source.tools.positions.checkpoint_folder import CheckpointError, CheckpointFolder

_OFFSETS: Final = "offsets"
_COMMITS: Final = "commits"
_STATE: Final = "state"
# The text that Spark writes for a source without a new offset.
_NOTHING: Final = "-"
# The version of the log whose sources have names.
_NAMED: Final = "v2"


class MicroBatch(NamedTuple):
    """A micro-batch of the log.

    Attributes:
        number: Counted from 0.
        ends: Source -> the offset after the last record of each partition. Sources that do not
            read Kafka are left out.
        planned_at_ms: When it was planned, in ms since 1970; 0 if the log does not say.
        is_committed: Whether it has ended.
    """

    number: int
    ends: Mapping[str, Mapping[TopicPartition, int]]
    planned_at_ms: int
    is_committed: bool


class Checkpoint(NamedTuple):
    """The checkpoint of a query.

    Attributes:
        location: As it was given.
        query_id: The query's id, which is the same after a restart.
        micro_batches: The micro-batches that Spark keeps, the oldest first; at least one.
        is_stateful: Whether the query keeps state, such as aggregates.
    """

    location: str
    query_id: str
    micro_batches: tuple[MicroBatch, ...]
    is_stateful: bool

    @property
    def last_committed(self) -> MicroBatch | None:
        """The last micro-batch that has ended; None if no micro-batch has."""
        committed = [each for each in self.micro_batches if each.is_committed]
        return committed[-1] if committed else None


class Moved(NamedTuple):
    """The offsets of a partition that a source read between two micro-batches.

    `start` is None for a partition that was new.
    """

    source: str
    topic: str
    partition: int
    start: int | None
    end: int

    @property
    def records(self) -> int | None:
        """An upper limit of the records; None for a new partition, whose start is not logged."""
        return None if self.start is None else self.end - self.start


def moved_between(before: MicroBatch | None, after: MicroBatch) -> list[Moved]:
    """The offsets read after one micro-batch up to the end of another, by partition."""
    starts = {} if before is None else before.ends
    return [
        Moved(source, *tp, starts.get(source, {}).get(tp), end)
        for source, ends in sorted(after.ends.items())
        for tp, end in sorted(ends.items())
    ]


def micro_batch_of(checkpoint: Checkpoint, number: int | None) -> MicroBatch:
    """A micro-batch by its number; without one the last that has ended.

    Raises:
        CheckpointError: There is no such micro-batch.
    """
    if number is None:
        if checkpoint.last_committed is None:
            raise CheckpointError(f"{checkpoint.location} has no micro-batch that has ended.")
        return checkpoint.last_committed
    for each in checkpoint.micro_batches:
        if each.number == number:
            return each
    first, last = checkpoint.micro_batches[0].number, checkpoint.micro_batches[-1].number
    raise CheckpointError(
        f"{checkpoint.location} has no micro-batch {number}: Spark keeps {first} to {last}."
    )


def read_checkpoint(location: str) -> Checkpoint:
    """Read a checkpoint.

    Args:
        location: A path, or a URI such as `s3://bucket/checkpoints/orders`.

    Raises:
        CheckpointError: It is not a checkpoint, has no micro-batch yet, or does not read Kafka.
    """
    folder = CheckpointFolder(location)
    offsets, commits = folder.numbers(_OFFSETS), {*folder.numbers(_COMMITS)}
    if not offsets:
        metadata = folder.has("metadata")
        raise CheckpointError(
            f"{location} has no micro-batch yet: the query has not read anything."
            if metadata
            else f"{location} is not a checkpoint of a streaming query: it has no folder 'offsets'."
        )
    batches = tuple(
        micro_batch_in(location, number, folder.lines(f"{_OFFSETS}/{number}"), number in commits)
        for number in sorted(offsets)
    )
    if not any(batch.ends for batch in batches):
        raise CheckpointError(
            f"{location} is the checkpoint of a query that reads nothing of Kafka."
        )
    return Checkpoint(location, folder.query_id(), batches, folder.has(_STATE))


def micro_batch_in(
    location: str, number: int, lines: Sequence[str], is_committed: bool
) -> MicroBatch:
    """A micro-batch by its lines in the offset log.

    Raises:
        CheckpointError: They are damaged, or of a version that is not known.
    """
    where = f"micro-batch {number} of {location}"
    version, metadata, *sources = [*lines, "", ""][: max(2, len(lines))]
    split = _SOURCES.get(version)
    if split is None:
        raise CheckpointError(
            f"{where} has version {version[:20]!r} of Spark's offset log; v1 and v2 are known."
        )
    try:
        planned_at = json.loads(metadata or "{}").get("batchTimestampMs", 0)
        named = split(sources)
    except (ValueError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{where} is damaged: {error}.") from error
    ends = {name: _offsets(text) for name, text in named.items()}
    return MicroBatch(
        number,
        {name: offsets for name, offsets in ends.items() if offsets is not None},
        planned_at if isinstance(planned_at, int) else 0,
        is_committed,
    )


def source_line(lines: Sequence[str], source: str) -> tuple[int, str, str]:
    """Where an entry of the offset log has a source: the line's number, its start, its offsets.

    Args:
        lines: The entry, of a version that `read_checkpoint` has read.
        source: Its number or name.

    Raises:
        CheckpointError: The entry does not have it.
    """
    for number, line in enumerate(lines[2:]):
        start = f"{source}:" if lines[0] == _NAMED else ""
        if line.startswith(start) if start else str(number) == source:
            return number + 2, start, line.removeprefix(start)
    raise CheckpointError(f"A micro-batch of the offset log has no source {source!r}.")


def _in_order(lines: list[str]) -> dict[str, str]:
    return {str(number): text for number, text in enumerate(lines)}


def _by_name(lines: list[str]) -> dict[str, str]:
    pairs = [line.partition(":") for line in lines]
    if not all(separator for _, separator, _ in pairs):
        raise ValueError("a source has no name")
    return {name: text for name, _, text in pairs}


# Version of the log -> its lines after the first two, by source (SPARK-54423).
_SOURCES: Final = {"v1": _in_order, _NAMED: _by_name}


def _offsets(text: str) -> dict[TopicPartition, int] | None:
    """The offsets of a source; None if it has no offsets, or does not read Kafka."""
    if text.strip() == _NOTHING:
        return None
    try:
        return offsets_from_log(json.loads(text)) or None
    except (KafkaConfigError, ValueError, RecursionError):
        return None
