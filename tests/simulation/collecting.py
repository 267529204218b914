"""What is left of a run: the `Outcome` that judges get, and the logs as they are now."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from tests.simulation.deadlines import most_ms
from tests.simulation.decoders import differences
from tests.simulation.kafka.cluster import NoLeaderError
from tests.simulation.outcome import Outcome, Waited
from tests.simulation.scenario import INPUT, OUTPUTS
from tests.truth.bounds import LogState

if TYPE_CHECKING:
    from tests.simulation.world import World


def collect(world: World) -> Outcome:
    """What the judge needs."""
    outcome = world.outcome
    names = [topic.name for topic in world.scenario.topics]
    names += [each for each in OUTPUTS if each in world.cluster.controller.topics]
    for name in names:
        for partition in world.partitions(name):
            outcome.starts[partition] = world.cluster.log_start(partition)
            records = {each.offset: each for each in world.losses.deleted[partition]}
            # What is deleted on one broker only comes back when another one leads.
            now = {each.offset: each for each in world.log(partition)}
            outcome.compacted[partition] = frozenset(records.keys() - now.keys())
            records |= now
            outcome.logs[partition] = [records[offset] for offset in sorted(records)]
    outcome.incarnations = world.losses.incarnations()
    outcome.cuts = world.losses.cuts()
    outcome.attempt_errors = world.executors.errors
    outcome.batches = {batch: world.disk.rows_of(batch) for batch in world.disk.manifest}
    outcome.attempts = dict(world.disk.files)
    outcome.plans = world.history.plans
    outcome.jobs = world.jobs.results
    outcome.waits = [Waited(name, ms, most_ms(name)) for name, ms in world.history.waits]
    outcome.ends = [_flat(json.loads(each)) for each in world.disk.ends]
    outcome.processed = _flat(world.disk.processed())
    outcome.first, outcome.first_again = _first_offsets(world)
    outcome.bad_frames = [
        difference
        for frame, version in world.network.fetched
        for difference in differences(frame, version)
    ]
    outcome.events = world.scheduler.events
    outcome.digest = world.trace.digest()
    return outcome


def states(world: World) -> dict[tuple[str, int], LogState]:
    """The logs of the input, as far as they have leaders."""
    states: dict[tuple[str, int], LogState] = {}
    for topic in world.scenario.topics:
        for partition in world.partitions(topic.name):
            with suppress(NoLeaderError):
                states[partition] = LogState(
                    world.cluster.log_start(partition),
                    world.cluster.high_watermark(partition),
                    world.cluster.last_stable_offset(partition),
                )
    return states


def timestamps(world: World) -> list[int]:
    """The timestamps of the records of the input, as far as its partitions have leaders."""
    found: set[int] = set()
    for partition in world.partitions(INPUT):
        with suppress(NoLeaderError):
            found.update(each.timestamp_ms for each in world.log(partition))
    return sorted(each for each in found if each >= 0)


def _first_offsets(world: World) -> tuple[dict[tuple[str, int], int], dict[tuple[str, int], int]]:
    """Where the query began, and where it did when its first micro-batch was planned last."""
    begun = [_flat(json.loads(each.start)) for each in world.history.plans if each.batch == 0]
    if world.scenario.starts_later and world.disk.ends:
        # A start that may be another one later is pinned by an empty first micro-batch.
        pinned = _flat(json.loads(world.disk.ends[0]))
        started = begun[0] if begun else pinned
        begun = [{key: min(at, started.get(key, at)) for key, at in pinned.items()}]
    elif not world.scenario.loses_records or not begun:
        begun = [{}]
    return begun[0], begun[-1]


def _flat(offsets: dict[str, dict[str, int]]) -> dict[tuple[str, int], int]:
    return {
        (topic, int(number)): offset
        for topic, partitions in offsets.items()
        for number, offset in partitions.items()
    }
