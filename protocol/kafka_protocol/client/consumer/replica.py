"""Which replica of a partition to fetch from: the leader, or the one that it names (KIP-392).

A choice and nothing more: no requests are made here. The leader's word is the only one that counts
for what is missing; a follower may lag behind, so whatever goes wrong there sends the read back.
"""

from __future__ import annotations

import logging
from typing import Final

from kafka_protocol.client.clock import Deadline
from kafka_protocol.topic_partition import TopicPartition

_log = logging.getLogger(__name__)

# How long to stay with a replica before the leader is asked whether it is still the best one: what
# metadata.max.age.ms is to the Java client.
_LEASE_MS: Final = 5 * 60_000

# How long to stay with the leader after a replica that was of no use.
_SHUN_MS: Final = 60_000


class ReadReplica:
    """Whom one read of a partition asks.

    Args:
        topic_partition: What is read.
        rack: `client.rack`; empty where none was given.
    """

    def __init__(self, topic_partition: TopicPartition, rack: str) -> None:
        self._topic_partition = topic_partition
        self._rack = rack
        self._preferred: int | None = None
        self._lease = self._shunned = Deadline.after(0)

    def __repr__(self) -> str:
        where = "the leader" if self._preferred is None else f"broker {self._preferred}"
        return f"<ReadReplica of {self._topic_partition} at {where}>"

    @property
    def is_leader(self) -> bool:
        """Whether the leader is asked."""
        return self._preferred is None

    @property
    def rack(self) -> str:
        """What to tell the leader: without a rack it hands out the records itself."""
        return self._rack if self._shunned.has_passed else ""

    def choose(self, leader: int) -> int:
        """The broker to ask, by its number; `leader` is the leader's."""
        if self._preferred == leader or self._lease.has_passed:
            self._preferred = None
        return leader if self._preferred is None else self._preferred

    def follow(self, preferred: int, answered: int | None) -> bool:
        """Hear whom an answer names.

        Args:
            preferred: The `preferred_read_replica` of the answer, negative for none.
            answered: Who answered.

        Returns:
            Whether to ask somebody else now.
        """
        if preferred < 0 or preferred == answered:
            return False
        if not self.is_leader or not self._shunned.has_passed:
            return False
        _log.debug(
            "%s is read from broker %d, as its leader asks", self._topic_partition, preferred
        )
        self._preferred = preferred
        self._lease = Deadline.after(_LEASE_MS)
        return True

    def leave(self, why: object) -> None:
        """Go back to the leader, and do not ask it for a replica for a while."""
        _log.debug("%s is read from its leader again: %s", self._topic_partition, why)
        self._preferred = None
        self._shunned = Deadline.after(_SHUN_MS)
