"""The newest known leader of each partition, so that older metadata does not replace it.

Brokers learn of a new leader at different times; the higher leader epoch is the newer (KIP-320).
No requests here.
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
    valid_until: Deadline


class NewestLeaders:
    """The newest known leaders of each topic.

    Args:
        propagation_ms: How long all brokers take to learn of a topic. Without topic ids, a topic
            that was re-created has older epochs for good, so after this time they are accepted.
    """

    def __init__(self, propagation_ms: int) -> None:
        self._propagation_ms = propagation_ms
        self._known: dict[str, _Known] = {}

    def __repr__(self) -> str:
        return f"<NewestLeaders of {len(self._known)} topics>"

    def merge(self, topic: Topic) -> Topic:
        """The topic as a broker describes it, with known leaders where their epochs are newer."""
        known = self._known.get(topic.name)
        is_known = known is not None and known.partitions is topic.partitions
        if known is not None and not is_known and _is_same(known, topic):
            newer = {
                number: before
                for number, leader in topic.partitions.items()
                if (before := known.partitions.get(number)) is not None
                and _NO_EPOCH < leader.epoch < before.epoch
            }
            if newer:
                # `known` stays as it is, so that its time goes on.
                return topic._replace(partitions={**topic.partitions, **newer})
        until = Deadline.after(self._propagation_ms)
        self._known[topic.name] = _Known(topic.topic_id, topic.partitions, until)
        return topic


def _is_same(known: _Known, topic: Topic) -> bool:
    if known.topic_id != topic.topic_id:
        return False
    return has_topic_id(topic) or not known.valid_until.has_passed
