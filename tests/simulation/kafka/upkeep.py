"""Retention and compaction of a replica's log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.simulation.kafka.batches import Stored, emptied, thinned
from tests.simulation.kafka.replica import Replica
from tests.simulation.kafka.truth import ABORTED, outcomes

_WEEK_MS: Final = 604_800_000
_NO_CONFIG: Final[Mapping[str, str]] = {}


def apply_retention(replica: Replica, config: Mapping[str, str] = _NO_CONFIG) -> int:
    """Delete the oldest batches below the high watermark that are too old or too many.

    `config` counts before the topic's own.
    """
    broker, log = replica.broker, replica.log
    topic = broker.image.topics[replica.topic_partition.topic]
    topic = topic._replace(config={**topic.config, **config})
    keeps_ms = topic.number("retention.ms", _WEEK_MS)
    keeps_bytes = topic.number("retention.bytes", -1)
    oldest_ms = broker.now_ms - keeps_ms if keeps_ms >= 0 else -1
    size = sum(len(stored.data) for stored in log.batches)
    start = log.start_offset
    for stored in log.batches:
        is_old = keeps_ms >= 0 and stored.max_timestamp < oldest_ms
        is_more = 0 <= keeps_bytes < size
        if not (is_old or is_more) or stored.next_offset > replica.high_watermark:
            break
        size -= len(stored.data)
        start = stored.next_offset
    if start > log.start_offset:
        replica.delete_before(start)
    return log.start_offset


def compact(replica: Replica) -> None:
    """Keep the newest record of each key below the last stable offset, as the log cleaner does.

    The last batch of the log stays as it is (the active segment). Records of aborted transactions
    go; so do markers, but for the last batch of each producer, which keeps its sequence.
    """
    log, until = replica.log, replica.last_stable_offset
    cleaned = [s for s in log.batches[:-1] if s.next_offset <= until and s.header is not None]
    if not cleaned:
        return
    ended = outcomes(log.batches)
    newest: dict[bytes, int] = {}
    for stored in cleaned:
        if not stored.is_control and ended.get(stored.base_offset) != ABORTED:
            newest.update({r.key: r.offset for r in stored.records() if r.key is not None})
    last = {s.header.producer_id: s.base_offset for s in log.batches if s.header is not None}
    will_clean = {stored.base_offset for stored in cleaned}
    kept: list[Stored] = []
    for stored in log.batches:
        if stored.base_offset not in will_clean:
            kept.append(stored)
            continue
        remains = _remains(stored, newest, is_aborted=ended.get(stored.base_offset) == ABORTED)
        if remains is not None:
            kept.append(remains)
        elif (
            stored.header is not None and last.get(stored.header.producer_id) == stored.base_offset
        ):
            kept.append(stored if stored.is_control else emptied(stored))
    log.replace(kept)


def _remains(stored: Stored, newest: dict[bytes, int], *, is_aborted: bool) -> Stored | None:
    """What is left of a batch; None for nothing."""
    if stored.is_control or is_aborted:
        return None
    records = stored.records()
    kept = [r for r in records if r.key is not None and newest.get(r.key) == r.offset]
    if not kept:
        return None
    return stored if len(kept) == len(records) else thinned(stored, kept)
