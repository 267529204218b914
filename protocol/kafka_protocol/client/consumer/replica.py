"""Which replica of a partition to fetch from: the leader, or its preferred replica (KIP-392).

No requests here. A follower may lack the last records, so after any error of a follower the read
returns to the leader, which alone can report lost data.
"""

from __future__ import annotations

import logging
from typing import Final

from kafka_protocol.client.clock import Deadline
from kafka_protocol.topic_partition import TopicPartition

_log = logging.getLogger(__name__)

# How long to fetch from a preferred replica before the leader may name another, in ms: the default
# of Java's metadata.max.age.ms, which has this role there.
_LEASE_MS: Final = 5 * 60_000

# How long to fetch from the leader after a preferred replica failed, in ms.
_SHUN_MS: Final = 60_000


class ReadReplica:
    """The broker that one read of a partition fetches from. `rack` is `client.rack`, or empty."""

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
        """Whether the read fetches from the leader."""
        return self._preferred is None

    @property
    def rack(self) -> str:
        """The rack for requests; empty for a while after a failure, so the leader sends records."""
        return self._rack if self._shunned.has_passed else ""

    def choose(self, leader: int) -> int:
        """The node id of the broker to fetch from; `leader` is the leader's."""
        if self._preferred == leader or self._lease.has_passed:
            self._preferred = None
        return leader if self._preferred is None else self._preferred

    def follow(self, preferred: int, responder: int | None) -> bool:
        """Adopt a response's preferred replica (negative without one), unless it is the responder.

        Returns whether the next Fetch goes to another broker.
        """
        if preferred < 0 or preferred == responder:
            return False
        if not self.is_leader or not self._shunned.has_passed:
            return False
        _log.debug(
            "%s is read from broker %d, its preferred replica", self._topic_partition, preferred
        )
        self._preferred = preferred
        self._lease = Deadline.after(_LEASE_MS)
        return True

    def leave(self, why: object) -> None:
        """Return to the leader, and accept no preferred replica for a while."""
        _log.debug("%s is read from its leader again: %s", self._topic_partition, why)
        self._preferred = None
        self._shunned = Deadline.after(_SHUN_MS)
