"""The driver's knowledge of the prefix of an exactly-once write before tasks begin. Pure.

The driver has fenced the earlier driver of the prefix then, and has carried out its last decision.
Which tasks still have to write follows from the table. It travels to the tasks.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kafka_protocol.client.producer.transactions import Transaction
from kafka_spark_source.writing.decision_format import MicroBatch
from kafka_spark_source.writing.delivery import TaskAttempt


class Decided(Enum):
    """The micro-batch of the last decision, seen from the one that a task writes."""

    NONE = "there is no decision"
    ANOTHER_QUERY = "a micro-batch of another query"
    EARLIER = "an earlier micro-batch"
    THIS = "the micro-batch of the task"
    LATER = "a later micro-batch"


class Records(Enum):
    """The records of the task in the decided micro-batch."""

    COMMITTED = "they are committed"
    ROLLED_BACK = "they were rolled back before they could be committed"


class Action(Enum):
    """The action of a task."""

    WRITE = "write"
    SKIP = "write nothing: its records are there"


ACTIONS: Final[Mapping[Decided, Mapping[Records, Action]]] = {
    Decided.NONE: dict.fromkeys(Records, Action.WRITE),
    Decided.ANOTHER_QUERY: dict.fromkeys(Records, Action.WRITE),
    Decided.EARLIER: dict.fromkeys(Records, Action.WRITE),
    Decided.THIS: {Records.COMMITTED: Action.SKIP, Records.ROLLED_BACK: Action.WRITE},
    # A micro-batch is decided only when the one before it is committed as a whole.
    Decided.LATER: dict.fromkeys(Records, Action.SKIP),
}

# A value of `ClaimedPrefix.rolled_back`: no record of the decided micro-batch is committed, so any
# task writes, also one that the decision does not know.
EVERY_TASK: Final = range(2**31)


@dataclass(frozen=True, slots=True)
class ClaimedPrefix:
    """The driver's knowledge.

    Attributes:
        driver_transaction: The driver's own transaction, which will contain its decision.
        decided: The micro-batch of the last decision; None if there is none, or for a batch query.
        rolled_back: The numbers of its tasks whose records were rolled back, or EVERY_TASK.
    """

    driver_transaction: Transaction
    decided: MicroBatch | None = None
    rolled_back: Container[int] = frozenset()

    def action(self, task: TaskAttempt) -> Action:
        """The action that a task must take."""
        is_rolled_back = task.partition in self.rolled_back
        records = Records.ROLLED_BACK if is_rolled_back else Records.COMMITTED
        return ACTIONS[_decided(self.decided, task.micro_batch)][records]


def _decided(decided: MicroBatch | None, current: MicroBatch | None) -> Decided:
    if decided is None or current is None:
        return Decided.NONE
    if decided.query != current.query:
        return Decided.ANOTHER_QUERY
    if decided.number == current.number:
        return Decided.THIS
    return Decided.EARLIER if decided.number < current.number else Decided.LATER
