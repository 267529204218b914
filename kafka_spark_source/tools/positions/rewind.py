"""Moves a streaming query to other offsets, in its own checkpoint.

Spark continues from the last micro-batch of the offset log (`MicroBatchExecution`). If this
micro-batch has ended, its offsets are replaced by the new ones. If it has not ended, Spark runs it
again, from the offsets of the micro-batch before it. Then both get the new offsets of the moved
partitions: Spark runs the last micro-batch without records of these partitions, and continues at
the new offsets. The other partitions keep their offsets in both micro-batches.

So no number of a micro-batch is used for other records. Some sinks skip the numbers that they know
(a file sink, an exactly-once write, a `foreachBatch` that compares them). They skip no record, and
write no record of a partition that stays twice. A file sink, which needs each number, misses none.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.topic_partition import TopicPartition, by_topic
from kafka_spark_source.planning.offsets_json import (
    join_partitions,
    offsets_from_log,
    offsets_to_log,
)
from kafka_spark_source.planning.positions import Bound, Everywhere, SpecificOffsets
from kafka_spark_source.tools.positions.checkpoint_folder import CheckpointError, CheckpointFolder
from kafka_spark_source.tools.positions.checkpoints import (
    Checkpoint,
    MicroBatch,
    micro_batch_of,
    read_checkpoint,
    source_line,
)
from kafka_spark_source.tools.positions.moves import OffsetPlan, plan_moves
from kafka_spark_source.tools.positions.positions import partitions_of

_LOGS: Final = ("offsets", "commits")

# A query that has written nothing for so long has probably ended. Spark's logs have no lock.
QUIET_MS: Final = 60_000


@dataclass(frozen=True, kw_only=True)
class Rewind(OffsetPlan):
    """The moves of a query.

    Attributes:
        checkpoint: As it was when the rewind was planned.
        source: The number of the source in the query, or its name.
        target: The position, or positions of some partitions. The others stay.
        rewritten: The numbers of the micro-batches with new offsets: the last that has ended, and
            the later ones.
    """

    checkpoint: Checkpoint
    source: str
    target: Everywhere | SpecificOffsets
    rewritten: tuple[int, ...]

    @property
    def is_unfinished(self) -> bool:
        """Whether a micro-batch has begun and not ended."""
        return len(self.rewritten) > 1


def plan_rewind(
    checkpoint: Checkpoint,
    target: Everywhere | SpecificOffsets,
    cluster: Cluster,
    deadline: Deadline,
    source: str | None = None,
) -> Rewind:
    """Find the new offsets of a query. Partitions that the target does not name stay.

    Args:
        checkpoint: The checkpoint of a query that has ended.
        target: The position to continue at.
        cluster: The brokers of the topics.
        deadline: When the brokers must have responded.
        source: Its number or name; needed if the query has several that read Kafka.

    Raises:
        CheckpointError: The query cannot be moved there.
        KafkaError: A topic is gone, or a broker cannot be reached.
    """
    _check_stateless(checkpoint)
    ended = micro_batch_of(checkpoint, None)
    chosen = _chosen(checkpoint, ended, source)
    committed = ended.ends[chosen]
    bounds = _bounds(target, committed)
    known = partitions_of(cluster, sorted(by_topic(committed)), deadline)
    gone = committed.keys() - set(known)
    if gone:
        raise CheckpointError(
            f"{join_partitions(gone)} no longer exists: the topic was created again, so the "
            "query needs a new checkpoint."
        )
    moves = plan_moves(committed, bounds, cluster, deadline)
    rewritten = tuple(
        each.number for each in checkpoint.micro_batches if each.number >= ended.number
    )
    return Rewind(
        checkpoint=checkpoint, source=chosen, target=target, rewritten=rewritten, moves=moves
    )


def rewind(planned: Rewind) -> Path:
    """Copy the checkpoint, and move the query. If this is interrupted, call it again.

    Returns:
        The copy, a folder beside the checkpoint.

    Raises:
        CheckpointError: The query has gone on meanwhile, or seems to run.
        OSError: A file cannot be written.
    """
    checkpoint = planned.checkpoint
    folder = CheckpointFolder(checkpoint.location).local_path()
    check_quiet(checkpoint)
    copy = _copy(folder)
    if read_checkpoint(checkpoint.location) != checkpoint:
        raise CheckpointError(
            f"{checkpoint.location} has changed meanwhile: the query runs. Stop it, and try again."
        )
    offsets = {TopicPartition(each.topic, each.partition): each.offset for each in planned.moves}
    # The last one first. If this stops in between, the unfinished micro-batch ends before it
    # begins: connectors report that, and skip nothing.
    files = [folder / "offsets" / str(number) for number in reversed(planned.rewritten)]
    moving = {tp: offset for tp, offset in offsets.items() if _moves(tp, planned.target)}
    entries = {file: _with_offsets(file, planned, moving) for file in files}
    for file, text in entries.items():
        _replace(file, text)
    return copy


def check_skips_nothing(planned: Rewind) -> None:
    """Check that no record would never be read.

    Raises:
        CheckpointError: Some would not.
    """
    if planned.ahead:
        raise CheckpointError(
            f"The query has not come that far in {join_partitions(planned.ahead)}: "
            f"{planned.skipped:,} offsets would never be read. Choose an earlier position, "
            "name the other partitions only (as JSON), or give --skip."
        )


def check_quiet(checkpoint: Checkpoint) -> None:
    """Check that the query does not seem to run.

    A query that waits for records, or for its trigger, writes nothing: it looks like one that has
    ended.

    Raises:
        CheckpointError: It has written a moment ago, or the folder is not a local one.
    """
    folder = CheckpointFolder(checkpoint.location).local_path()
    files = [file for name in _LOGS for file in (folder / name).glob("*")]
    age_ms = now_ms() - max((file.stat().st_mtime * 1000 for file in files), default=0)
    if age_ms < QUIET_MS:
        raise CheckpointError(
            f"The query of {checkpoint.location} may be running: it wrote less than "
            f"{QUIET_MS // 1000} s ago. Stop it, and try again in a minute."
        )


def _check_stateless(checkpoint: Checkpoint) -> None:
    if checkpoint.is_stateful:
        raise CheckpointError(
            f"The query of {checkpoint.location} keeps state, such as aggregates, which would "
            "count records twice: start it with a new checkpoint, and startingOffsets from "
            "`pykafka offsets`."
        )


def _chosen(checkpoint: Checkpoint, ended: MicroBatch, source: str | None) -> str:
    """The source to move."""
    known = sorted(ended.ends)
    if source is None and len(known) == 1:
        return known[0]
    if source in ended.ends:
        return str(source)
    raise CheckpointError(
        f"Choose the source of {checkpoint.location} with --source: "
        f"{', '.join(known) or 'but no finished micro-batch has read Kafka'}."
    )


def _bounds(
    target: Everywhere | SpecificOffsets, committed: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Bound]:
    """The new position of each partition that moves."""
    if isinstance(target, Everywhere):
        return dict.fromkeys(committed, target.bound)
    unknown = [each for each in target.bounds if not _names_any(each, committed)]
    if unknown:
        raise CheckpointError(
            f"The query has not read {', '.join(sorted(map(str, unknown)))} yet: name "
            "partitions that `pykafka checkpoint export` shows."
        )
    return {tp: target.bound_of(tp) for tp in committed if _moves(tp, target)}


def _moves(tp: TopicPartition, target: Everywhere | SpecificOffsets) -> bool:
    """Whether the target names a partition."""
    if isinstance(target, Everywhere):
        return True
    return tp in target.bounds or tp.topic in target.bounds


def _names_any(name: TopicPartition | str, committed: Mapping[TopicPartition, int]) -> bool:
    return name in committed or any(each.topic == name for each in committed)


def _copy(folder: Path) -> Path:
    """Copy the checkpoint to a folder beside it that is new."""
    now = datetime.fromtimestamp(now_ms() / 1_000, timezone.utc)
    copy = folder.with_name(f"{folder.name}.before-rewind-{now:%Y%m%dT%H%M%S.%fZ}")
    shutil.copytree(folder, copy, symlinks=True)
    return copy


def _with_offsets(file: Path, planned: Rewind, moving: Mapping[TopicPartition, int]) -> str:
    """An entry of the offset log with other offsets of the partitions that move."""
    lines = file.read_text("utf-8").split("\n")
    number, start, old = source_line(lines, planned.source)
    logged = offsets_from_log(json.loads(old))
    stay = {tp: offset for tp, offset in logged.items() if not _moves(tp, planned.target)}
    # As the connector writes them: Spark compares the offsets of a Python source as text.
    is_spaced = json.dumps(json.loads(old)) == old
    separators = None if is_spaced else (",", ":")
    lines[number] = start + json.dumps(offsets_to_log({**stay, **moving}), separators=separators)
    return "\n".join(lines)


def _replace(file: Path, text: str) -> None:
    """Replace a file: after a crash there is the old one or the new one."""
    # Hadoop takes a file without a checksum as it is, and refuses one with that of another.
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    new = file.parent / f".{file.name}.rewind.tmp"
    with new.open("w", encoding="utf-8", newline="") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    shutil.copymode(file, new)
    new.replace(file)
