"""The ids of the topics that a query reads, and the ids of replaced topics. Pure.

An id that was replaced is never believed again: only a broker with very old metadata returns it.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping


class TopicIds:
    """Topic -> its id; empty below Kafka 2.8. The first id seen counts, until it changes."""

    def __init__(self) -> None:
        self._ids: dict[str, uuid.UUID] = {}
        self._replaced: set[uuid.UUID] = set()

    def __repr__(self) -> str:
        return f"<TopicIds of {len(self._ids)} topics, {len(self._replaced)} replaced>"

    @property
    def by_topic(self) -> Mapping[str, uuid.UUID]:
        """The ids that are expected."""
        return self._ids

    def are_stale(self, topic_ids: Mapping[str, uuid.UUID]) -> bool:
        """Whether metadata has an id that was replaced."""
        return not self._replaced.isdisjoint(topic_ids.values())

    def adopt(self, topic_ids: Mapping[str, uuid.UUID]) -> None:
        """Expect the ids of topics that are new."""
        self._ids = {**topic_ids, **self._ids}

    def changed_in(self, topic_ids: Mapping[str, uuid.UUID]) -> set[str]:
        """The topics that have another id in metadata than is expected."""
        return {topic for topic, id_ in topic_ids.items() if self._ids.get(topic, id_) != id_}

    def replace(self, topics: Collection[str], topic_ids: Mapping[str, uuid.UUID]) -> None:
        """Expect the ids that these topics have in metadata now, and never the ones before."""
        self._replaced.update(self._ids[topic] for topic in topics)
        self._ids |= topic_ids
