"""The newest leader of each partition that any broker told, so that older word is not believed.

Brokers hear of a new leader at different times; a leader's epoch says which word is newer
(KIP-320). No requests are made here.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import NamedTuple

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.metadata import Leader, Topic, has_topic_id

_NO_EPOCH = -1


class _Known(NamedTuple):
    topic_id: uuid.UUID
    partitions: Mapping[int, Leader]
    believed_until: Deadline


class NewestLeaders:
    """What is known of leaders, topic by topic.

    Args:
        propagation_ms: How long word of a topic may take. Where brokers tell no topic ids, a
            topic that was created anew has older epochs for good, so after that time they count.
    """

    def __init__(self, propagation_ms: int) -> None:
        self._propagation_ms = propagation_ms
        self._known: dict[str, _Known] = {}

    def __repr__(self) -> str:
        return f"<NewestLeaders of {len(self._known)} topics>"

    def merge(self, topic: Topic) -> Topic:
        """What a broker says of a topic, but for leaders that are older than what is known."""
        known = self._known.get(topic.name)
        if known is not None and _is_same(known, topic):
            older = {
                number: before
                for number, leader in topic.partitions.items()
                if (before := known.partitions.get(number)) is not None
                and _NO_EPOCH < leader.epoch < before.epoch
            }
            if older:
                # Kept as it was, so that the time goes on in which it is believed.
                return topic._replace(partitions={**topic.partitions, **older})
        until = Deadline.after(self._propagation_ms)
        self._known[topic.name] = _Known(topic.topic_id, topic.partitions, until)
        return topic


def _is_same(known: _Known, topic: Topic) -> bool:
    if known.topic_id != topic.topic_id:
        return False
    return has_topic_id(topic) or not known.believed_until.has_passed
