"""Whether a query tells a topic from another one that took its name. Pure, as `judge`.

Spark's checkpoint has no topic ids, so nothing is promised from one driver to the next.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from kafka_protocol.versions.releases import parse_release
from tests.simulation.outcome import Outcome
from tests.simulation.scenario import INPUT

_HAS_TOPIC_IDS: Final = (2, 8)


def incarnation_violations(outcome: Outcome) -> Iterator[str]:
    """Each micro-batch of the file sink that reads on in a topic that took another's place."""
    if parse_release(outcome.scenario.release) < _HAS_TOPIC_IDS:
        return
    may_go_on = outcome.scenario.source.get("failOnDataLoss") == "false"
    incarnation_of = _incarnation_of_values(outcome)
    driver_of = {plan.batch: plan.life for plan in outcome.plans}
    read: dict[tuple[int, int], set[int]] = defaultdict(set)
    for batch in sorted(outcome.batches):
        for partition, found in _incarnations_in(outcome, batch, incarnation_of).items():
            before = read[driver_of[batch], partition]
            if len(found) > 1:
                yield f"micro-batch {batch} has rows of two topics in {INPUT}-{partition}"
            elif before and not may_go_on and not found <= before:
                yield f"micro-batch {batch} goes on in another topic: {INPUT}-{partition}"
            before |= found
    yield from _wrong_ids(outcome, incarnation_of)


def _wrong_ids(outcome: Outcome, incarnation_of: Mapping[bytes, int]) -> Iterator[str]:
    """Ids of topics that two topics have, or topics with two ids."""
    if outcome.scenario.source.get("includeTopicId") != "true":
        return
    pairs = {
        (str(row.topic_id), incarnation_of[row.value or b""])
        for rows in outcome.batches.values()
        for row in rows
        if row.topic == INPUT and (row.value or b"") in incarnation_of
    }
    for place, what in ((0, "two topics have one id"), (1, "a topic has two ids")):
        counts = Counter(pair[place] for pair in pairs)
        if any(count > 1 for count in counts.values()):
            yield f"{what}: {sorted(pairs)}"


def _incarnation_of_values(outcome: Outcome) -> dict[bytes, int]:
    """Value -> the incarnation of the input that has it; none for values that were sent again."""
    counts = Counter(value for values in outcome.incarnations for value in values)
    return {
        value: number
        for number, values in enumerate(outcome.incarnations)
        for value in values
        if counts[value] == 1
    }


def _incarnations_in(
    outcome: Outcome, batch: int, incarnation_of: Mapping[bytes, int]
) -> dict[int, set[int]]:
    """Partition -> the incarnations that its rows in a micro-batch are from."""
    incarnations: dict[int, set[int]] = defaultdict(set)
    for row in outcome.batches[batch]:
        if row.topic == INPUT and (value := row.value or b"") in incarnation_of:
            incarnations[row.partition].add(incarnation_of[value])
    return incarnations
