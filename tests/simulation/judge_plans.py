"""Whether micro-batches are planned the same again, and as large as their limits. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tests.simulation.outcome import Outcome

_ABOUT: Final = 2


def plan_violations(outcome: Outcome) -> Iterator[str]:
    """A micro-batch that is planned again is the same one."""
    if outcome.scenario.loses_records:
        return
    first: dict[int, tuple[str, object]] = {}
    for plan in outcome.plans:
        ranges = _merged(plan.ranges)
        end, before = first.setdefault(plan.batch, (plan.end, ranges))
        if end != plan.end:
            yield f"micro-batch {plan.batch} ended at {end} and, planned again, at {plan.end}"
        elif before != ranges:
            yield f"micro-batch {plan.batch} read {before} and, planned again, {ranges}"


def limit_violations(outcome: Outcome) -> Iterator[str]:
    """maxOffsetsPerTrigger and maxRecordsPerPartition are kept, and maxBytesPerTrigger about."""
    scenario = outcome.scenario
    is_whole = scenario.trigger == "once" and scenario.interface == "4.2"
    if not is_whole:
        yield from _bytes(outcome)
    most, of_task = (
        int(scenario.source.get(name, 0))
        for name in ("maxOffsetsPerTrigger", "maxRecordsPerPartition")
    )
    for plan in outcome.plans:
        sizes = [until - start for _, _, start, until in plan.ranges]
        # A partition with less than one offset as its share has one.
        partitions = len({each[:2] for each in plan.ranges})
        if most and not is_whole and sum(sizes) > most + partitions:
            yield f"micro-batch {plan.batch} has {sum(sizes)} offsets, and the limit is {most}"
        if of_task and max(sizes, default=0) > of_task:
            yield f"micro-batch {plan.batch} has {max(sizes)} offsets in a task of {of_task}"


def _bytes(outcome: Outcome) -> Iterator[str]:
    """Micro-batches of more than twice the limit of bytes: the size of records is an estimate."""
    scenario = outcome.scenario
    most = int(scenario.source.get("maxBytesPerTrigger", 0))
    is_compressed = "kafka.compression.type" in scenario.producer or any(
        send.style.endswith(("gzip", "snappy", "lz4", "zstd")) for send in scenario.sends
    )
    if not most or is_compressed or scenario.has_blanks or scenario.rewrites:
        return
    for plan in outcome.plans:
        size = sum(
            len(record.value or b"")
            for topic, partition, start, until in plan.ranges
            for record in outcome.logs.get((topic, partition), ())
            if start <= record.offset < until
        )
        if size > _ABOUT * most:
            yield f"micro-batch {plan.batch} has {size} bytes of values, and the limit is {most}"


def _merged(ranges: Iterable[tuple[str, int, int, int]]) -> list[tuple[str, int, int, int]]:
    merged: list[tuple[str, int, int, int]] = []
    for topic, partition, start, until in ranges:
        if merged and merged[-1][:2] == (topic, partition) and merged[-1][3] == start:
            merged[-1] = (topic, partition, merged[-1][2], until)
        else:
            merged.append((topic, partition, start, until))
    return merged
