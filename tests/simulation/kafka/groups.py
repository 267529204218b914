"""The offsets of groups without members, in the log of their coordinator."""

from __future__ import annotations

from typing import NamedTuple

from kafka_protocol.errors import ErrorCode
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.coordinators import ShardLog
from tests.simulation.kafka.replica import Done


class Committed(NamedTuple):
    """A group's offset of one partition."""

    offset: int
    leader_epoch: int
    metadata: str | None


class Groups:
    """The groups of one coordinator."""

    def __init__(self, log: ShardLog) -> None:
        self._log = log
        self.offsets: dict[str, dict[TopicPartition, Committed]] = {}

    def load(self) -> None:
        for key, state in self._log.read().items():
            group, topic, number = key.rsplit("\n", 2)
            self._set(group, TopicPartition(topic, int(number)), Committed(*state))

    def commit(self, group: str, offsets: dict[TopicPartition, Committed], done: Done) -> None:
        """Write offsets; they count when they are replicated."""
        left = len(offsets)
        worst = ErrorCode.NONE

        def write(each: TopicPartition, committed: Committed) -> None:
            def written(error: ErrorCode) -> None:
                nonlocal left, worst
                left -= 1
                worst = worst or error
                if not error:
                    self._set(group, each, committed)
                if not left:
                    done(worst)

            self._log.write(f"{group}\n{each.topic}\n{each.partition}", committed, written)

        if not offsets:
            done(ErrorCode.NONE)
        for each, committed in offsets.items():
            write(each, committed)

    def _set(self, group: str, each: TopicPartition, committed: Committed) -> None:
        self.offsets.setdefault(group, {})[each] = committed
