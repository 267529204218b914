"""Whether a read noticed that a log lost its end while it was read. Pure, as `judge`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_protocol.versions.releases import parse_release
from tests.simulation.expected import named
from tests.simulation.outcome import Outcome

# Since then leaders compare the epoch of the last record that was read (KIP-320).
_COMPARES_EPOCHS: Final = (2, 7)
_WAITED: Final = "Cannot fetch record for offset"


def cut_violations(outcome: Outcome) -> Iterator[str]:
    """Rows of one task that were never in one log, and tasks that waited for what is gone."""
    if parse_release(outcome.scenario.release) < _COMPARES_EPOCHS:
        return
    may_go_on = outcome.scenario.source.get("failOnDataLoss") == "false"
    for partition, lost, later, without_epoch in outcome.cuts:
        name = named(partition)
        for file, rows in outcome.attempts.items():
            read = [row[4:6] for row in rows if (row.topic, row.partition) == partition]
            at = [place for place, record in enumerate(read) if record in lost]
            if not at or may_go_on or read[at[-1]] in without_epoch:
                continue
            if any(record in later for record in read[at[-1] :]):
                yield f"file {file} has records of {name} that were cut off, and later ones"
        for error in outcome.attempt_errors:
            if lost - without_epoch and _WAITED in error and f"of {name} " in error:
                yield f"{name} was cut, and a task waited: {error[:120]}"
