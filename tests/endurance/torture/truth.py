"""Reads what brokers have, with librdkafka, and compares it with what they acknowledged."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence

from confluent_kafka import TopicPartition

from tests.admin import Admin
from tests.endurance.torture.ledger import Ledger
from tests.endurance.torture.messages import row_of
from tests.endurance.torture.promise import COMMITTED, UNCOMMITTED, violation
from tests.endurance.torture.rows import PartitionTruth, Row, TopicTruth, identity_of, text_of
from tests.endurance.torture.topics import TopicPlan
from tests.endurance.torture.writing import MESSAGE_MAX_BYTES
from tests.truth.delivery import Difference, compare
from tests.witness import read_to_end


class TruthError(AssertionError):
    """Brokers or librdkafka broke a promise: nothing can be compared with what they have."""


def read_truth(
    servers: str, admin: Admin, plan: TopicPlan, partitions: int, ledger: Ledger
) -> TopicTruth:
    """What a settled topic has.

    Raises:
        TruthError: It is not what was acknowledged.
    """
    topic = plan.topic
    starts = admin.starts(topic, partitions)
    ends = admin.ends(topic, partitions)
    stable = admin.stable_ends(topic, partitions)
    committed = read_rows(servers, topic, starts, COMMITTED)
    uncommitted = read_rows(servers, topic, starts, UNCOMMITTED)
    known: dict[int, PartitionTruth] = {}
    for partition in range(partitions):
        # The same rows are kept once: they can be large.
        written = ledger.written(partition)
        known[partition] = PartitionTruth(
            starts[partition],
            ends[partition],
            stable[partition],
            _shared(committed.get(partition, ()), written),
            _shared(uncommitted.get(partition, ()), written),
            written,
            ledger.aborted(partition),
        )
    truth = TopicTruth(topic, plan, known)
    check(truth)
    return truth


def check(truth: TopicTruth) -> None:
    """Raises a TruthError if what was read is not what was acknowledged."""
    for partition, known in truth.partitions.items():
        place = f"{truth.topic}-{partition}"
        if known.stable != known.end:
            raise TruthError(f"{place}: a transaction is open at {known.stable} of {known.end}")
        difference = _first_difference(truth, known)
        if difference:
            raise TruthError(f"{place}: librdkafka reads other rows: {text_of(difference)}")


def _first_difference(truth: TopicTruth, known: PartitionTruth) -> Difference | None:
    left = [row for row in known.written if row.offset >= known.start]
    committed = [row for row in left if row.offset not in known.aborted]
    of_topic = {truth.topic: truth}
    # Of a compacted topic a reader of uncommitted records must get none: the newest may be aborted.
    must = () if truth.plan.is_compacted else None
    differences = compare(left, known.uncommitted, identity_of, must)
    return next(iter(differences), None) or violation(of_topic, committed, known.committed)


def _shared(rows: Sequence[Row], written: Sequence[Row]) -> tuple[Row, ...]:
    """The rows, as the objects that were written where these are equal."""
    objects = {row.offset: row for row in written}
    pairs = ((row, objects.get(row.offset, row)) for row in rows)
    return tuple(original if original == row else row for row, original in pairs)


def read_rows(
    servers: str, topic: str, starts: Mapping[int, int], isolation_level: str
) -> dict[int, list[Row]]:
    """The rows of each partition that has some, from its start to its end."""
    options = {
        "bootstrap.servers": servers,
        "group.id": f"truth {uuid.uuid4().hex}",
        "isolation.level": isolation_level,
        "auto.offset.reset": "error",
        "fetch.wait.max.ms": 20,
        "fetch.message.max.bytes": MESSAGE_MAX_BYTES,
        "log_level": 2,
    }
    rows: dict[int, list[Row]] = defaultdict(list)
    for message in read_to_end(
        [TopicPartition(topic, each, start) for each, start in starts.items()], options
    ):
        row = row_of(message)
        rows[row.partition].append(row)
    return rows
