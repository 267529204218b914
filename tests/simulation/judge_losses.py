"""Whether lost records are told as the options want it, and nothing else is. Pure, as `judge`."""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation.expected import all_rows, expected_records, inputs, named
from tests.simulation.outcome import Outcome
from tests.truth import losses
from tests.truth.losses import unreported


def loss_violations(outcome: Outcome) -> Iterator[str]:
    """Records that were gone before they were read, and that the query passed over.

    With failOnDataLoss=false it must log that, else it must stop before its micro-batch is
    committed. What compaction took is no loss.
    """
    if any(each.kind == "compact" for each in outcome.scenario.faults):
        return
    may_go_on = outcome.scenario.source.get("failOnDataLoss") == "false"
    reports = [*outcome.warnings, *outcome.errors]
    rows = all_rows(outcome)
    for partition in inputs(outcome):
        again = outcome.first_again.get(partition, 0)
        wanted = [each for each in expected_records(outcome, partition) if each.offset >= again]
        start = outcome.starts.get(partition, 0)
        lost = sum(each.offset < start and each[2:4] not in rows for each in wanted)
        yield from unreported(named(partition), lost, reports, may_go_on=may_go_on)


def false_alarms(outcome: Outcome) -> Iterator[str]:
    """Reports of losses where no record is lost."""
    return losses.false_alarms(outcome.alarms, may_lose=outcome.scenario.loses_records)
