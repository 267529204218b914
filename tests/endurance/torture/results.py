"""What became of each query of a run. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from tests.endurance.torture.copies.run import CopiesResult
from tests.endurance.torture.fault_rounds import FaultEvent


class Status(Enum):
    """RIGHT: all rows were right. AGAIN: a fault failed it, and without faults it was right.

    DIFFERENT and FAILED, without faults, are problems.
    """

    RIGHT = "right"
    AGAIN = "again"
    DIFFERENT = "different"
    FAILED = "failed"


PROBLEMS = frozenset({Status.DIFFERENT, Status.FAILED})


class Result(NamedTuple):
    """A query that was judged.

    Attributes:
        began: The seconds of the run.
        seconds: From its start until its rows were there, or it failed.
        faults: The names of those that came or lasted meanwhile.
        rows: How many it gave.
        text: For a problem, what happened; for AGAIN, the error of the first time.
    """

    round: int
    number: int
    way: str
    began: float
    seconds: float
    faults: Sequence[str]
    status: Status
    rows: int
    text: str = ""


class RunResult(NamedTuple):
    """A run; it is good if there are no problems.

    Attributes:
        copies: The sessions of copies.
        seconds: How long rounds lasted.
        faults: Those that came while queries ran, with their times in seconds of the run.
        restarts: Streams that were started again after a fault.
        records: How many records the topics had, of all rounds.
    """

    seed: int
    seconds: float
    rounds: int
    topics: int
    records: int
    restarts: int
    results: Sequence[Result]
    faults: Sequence[FaultEvent]
    copies: Sequence[CopiesResult]
    problems: Sequence[str]

    @property
    def queries_per_minute(self) -> float:
        """Of all rounds, with the writing of the topics and the checks."""
        return len(self.results) / max(self.seconds, 1e-9) * 60
