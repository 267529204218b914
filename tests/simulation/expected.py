"""Which records a stream is expected to have read, as far as it has come. Pure, as `judge`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping

from tests.simulation.contents import is_broken
from tests.simulation.disk import Headers
from tests.simulation.outcome import LogRecord, Outcome
from tests.simulation.scenario import OUTPUT, OUTPUTS
from tests.truth.headers import by_name
from tests.truth.tables import newest

Partition = tuple[str, int]


def chosen_records(outcome: Outcome, partition: Partition) -> list[LogRecord]:
    """The records of an input partition that a query decodes, as far as it has come."""
    states = {"committed"} if outcome.scenario.is_committed_view else {"committed", "aborted"}
    first, end = outcome.first.get(partition, 0), outcome.processed.get(partition, 0)
    visible = [
        each
        for each in outcome.logs[partition]
        if first <= each.offset < end and each.outcome in states
    ]
    if outcome.scenario.source.get("envelope") == "upsert":
        places = places_of(outcome, partition)
        return newest(visible, lambda each: (places(each.offset)[0], each.key))
    return visible


def still_there(
    outcome: Outcome, partition: Partition, records: Iterable[LogRecord]
) -> Iterator[LogRecord]:
    """The records that were neither deleted nor compacted; the others may be gone unread."""
    start = outcome.starts.get(partition, 0)
    compacted = outcome.compacted.get(partition, frozenset())
    return (each for each in records if each.offset >= start and each.offset not in compacted)


def visible_states(isolation_level: str | None) -> frozenset[str]:
    """The outcomes of the records that a reader is shown."""
    others = () if isolation_level == "read_committed" else ("aborted", "open")
    return frozenset(("committed", *others))


def expected_records(outcome: Outcome, partition: Partition) -> list[LogRecord]:
    """The records of an input partition of which there are rows, as far as it has come."""
    chosen = chosen_records(outcome, partition)
    if outcome.scenario.drops_broken:
        return [each for each in chosen if not is_broken(each.value)]
    return chosen


def headers_as_read(columns: Mapping[str, str], headers: Headers) -> Headers:
    """Headers as a read has them with its columns."""
    return by_name(headers) if columns.get("headers") == "map" else headers


def all_rows(outcome: Outcome) -> set[object]:
    """Key and value of everything that was written."""
    if outcome.scenario.sink == "files":
        return {(row.key, row.value) for rows in outcome.batches.values() for row in rows}
    return {
        each[2:4] for (topic, _), log in outcome.logs.items() if topic == OUTPUT for each in log
    }


def inputs(outcome: Outcome) -> list[Partition]:
    """The partitions that a stream may read."""
    return [each for each in outcome.logs if each[0] not in OUTPUTS]


def places_of(outcome: Outcome, partition: Partition) -> Callable[[int], tuple[int, int]]:
    """Offset -> the micro-batch and the first offset of the range in which it was planned."""
    starts = sorted(
        {
            (start, plan.batch)
            for plan in outcome.plans
            for topic, number, start, until in plan.ranges
            if (topic, number) == partition and start < until
        }
    )

    def place(offset: int) -> tuple[int, int]:
        at = bisect_right(starts, (offset, len(outcome.plans))) - 1
        return (starts[at][1], starts[at][0]) if at >= 0 else (-1, -1)

    return place


def named(partition: Partition) -> str:
    """The partition as Kafka and the product name it."""
    return f"{partition[0]}-{partition[1]}"
