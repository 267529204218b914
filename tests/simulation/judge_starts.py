"""Whether a stream begins where its options say. Pure, as `judge`.

A start such as the end of the log lies between the states of the logs before the query was started
and after its first micro-batch was logged, as the start of a batch query does.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation.expected import named
from tests.simulation.judge_jobs import start_between
from tests.simulation.outcome import JobResult, Outcome
from tests.simulation.scenario import Job
from tests.truth.delivery import short


def start_violations(outcome: Outcome) -> Iterator[str]:
    """The first offset of each partition that existed when the query was started."""
    scenario = outcome.scenario
    if not scenario.starts_later or outcome.begun is None or scenario.loses_records:
        return
    began = outcome.begun
    result = JobResult(Job(0, "read", scenario.source), began.before, began.after, (), None, False)
    result = result._replace(before_ms=began.before_ms, after_ms=began.after_ms)
    for partition, first in outcome.first.items():
        if partition not in began.before or partition not in began.after:
            continue  # without a leader nothing is known
        if not scenario.reads(*partition):
            continue
        between = start_between(outcome, result, partition)
        if not between.least <= first <= between.most:
            log = [each for each in outcome.logs[partition] if each.offset >= between.most]
            yield (
                f"{named(partition)}: the stream began at {first}, and not from {between.least} to "
                f"{between.most}, where {short(log[0]) if log else 'the log ends'}"
            )
