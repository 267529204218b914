"""The scripts, by what a broker must be able to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tests.simulation.kafka.peers import Peer
from tests.simulation.kafka.scripts import (
    failover,
    groups,
    old,
    reads,
    topics,
    transactions,
    writes,
)
from tests.simulation.kafka.trios import Trio

Script = Callable[[Peer, str], None]

# For brokers of the newest release.
SCRIPTS: Final[Sequence[Script]] = (
    groups.described_groups,
    groups.group_offsets,
    reads.deleted_records,
    reads.epoch_ends,
    reads.offsets_by_time,
    reads.reads_at_bounds,
    reads.unsupported_versions,
    topics.altered_topics,
    topics.metadata,
    topics.topic_configs,
    topics.topics_come_and_go,
    transactions.fenced_producers,
    transactions.init_variants,
    transactions.listed_transactions,
    transactions.transactions,
    transactions.transactions_v2,
    writes.idempotent_writes,
    writes.refused_writes,
    writes.stamped_writes,
    writes.writes_without_acks,
)

TrioScript = Callable[[Trio, str], None]

# For three brokers of the newest release.
TRIO_SCRIPTS: Final[Sequence[TrioScript]] = (
    failover.wrong_brokers,
    failover.wrong_coordinators,
    failover.moved_leaders,
)

# For brokers of 0.10.2: message format 1, no transactions, no ids, no epochs.
OLD_SCRIPTS: Final[Sequence[Script]] = (
    old.group_offsets,
    old.metadata,
    old.offsets,
    old.reads,
    old.writes,
)
