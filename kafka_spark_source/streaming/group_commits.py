"""commitOffsetsToGroup: commits a stream's progress to a consumer group, for lag tools.

The query itself never reads these offsets, so a commit that fails is a warning and never an error.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.groups import commit_offsets
from kafka_protocol.errors import KafkaError
from kafka_protocol.topic_partition import TopicPartition

_log = logging.getLogger(__name__)

# Ample for a coordinator that can be reached.
_COMMIT_TIMEOUT_MS: Final = 3_000
# So an unreachable coordinator costs a query a tenth of its time at most.
_PAUSE_AFTER_FAILURE_MS: Final = 30_000


class GroupCommits:
    """Commits to one group, which must have no members. Never closes the cluster.

    Args:
        cluster: The cluster.
        group_id: The group.
        timeout_ms: How long a micro-batch waits for the coordinator.
    """

    def __init__(
        self, cluster: Cluster, group_id: str, *, timeout_ms: int = _COMMIT_TIMEOUT_MS
    ) -> None:
        self._cluster = cluster
        self._group_id = group_id
        self._timeout_ms = timeout_ms
        self._committed: Mapping[TopicPartition, int] = {}
        self._pause = Deadline.after(0)

    def __repr__(self) -> str:
        return f"<GroupCommits to {self._group_id!r}>"

    def commit(self, processed: Mapping[TopicPartition, int]) -> None:
        """Commit what changed since the last time; a failure is a warning."""
        changed = {tp: at for tp, at in processed.items() if self._committed.get(tp) != at}
        if not changed or not self._pause.has_passed:
            return
        try:
            deadline = Deadline.after(self._timeout_ms)
            commit_offsets(self._cluster, self._group_id, changed, deadline)
        except KafkaError as error:
            self._pause = Deadline.after(_PAUSE_AFTER_FAILURE_MS)
            _log.warning(
                "The query continues, but its progress cannot be committed to the group %s. The "
                "next attempt is in %d s: %s",
                self._group_id,
                _PAUSE_AFTER_FAILURE_MS // 1_000,
                error,
            )
        else:
            self._committed = dict(processed)
