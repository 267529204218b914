"""The controller: it owns the metadata, elects leaders, and tells the brokers, each a while later.

It stands for a quorum that is always there, or for ZooKeeper. What brokers do with the news is in
`broker`.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from kafka_protocol.errors import ErrorCode
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.images import NO_LEADER, ClusterImage, PartitionImage, TopicImage

Publish = Callable[[str, "TopicImage | None"], None]

_PRODUCER_IDS_IN_BLOCK: Final = 1_000


class Controller:
    """The metadata of a cluster.

    Args:
        random: Draws topic ids.
        publish: Tells brokers of a topic's new state, or of its end (None).
        publish_live: Tells brokers which of them are live.
    """

    def __init__(
        self,
        random: random.Random,
        publish: Publish,
        publish_live: Callable[[tuple[int, ...]], None],
    ) -> None:
        self.topics: dict[str, TopicImage] = {}
        self.live: tuple[int, ...] = ()
        self.unclean = False
        self.unclean_elections: list[TopicPartition] = []  # for the judge
        self._random = random
        self._publish = publish
        self._publish_live = publish_live
        self._next_producer_id = _PRODUCER_IDS_IN_BLOCK
        self._placed = 0

    def image(self) -> ClusterImage:
        """What a broker loads at its start."""
        return ClusterImage(self.topics, self.live)

    def producer_ids(self) -> range:
        """A block of producer ids for one broker."""
        first = self._next_producer_id
        self._next_producer_id += _PRODUCER_IDS_IN_BLOCK
        return range(first, self._next_producer_id)

    # --- Topics ----------------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int,
        replication: int,
        config: Mapping[str, str],
        *,
        is_internal: bool = False,
        assignments: Sequence[tuple[int, ...]] = (),
    ) -> TopicImage:
        """Create a topic; its replicas are on the live nodes in turn, or as assigned."""
        topic_id = uuid.UUID(int=self._random.getrandbits(128), version=4)
        placed = tuple(PartitionImage(each, each, each[0]) for each in assignments) or tuple(
            self._place(replication) for _ in range(partitions)
        )
        topic = TopicImage(name, topic_id, dict(config), placed, is_internal)
        self._set(topic)
        return topic

    def delete_topic(self, name: str) -> None:
        del self.topics[name]
        self._publish(name, None)

    def configure_topic(self, name: str, config: Mapping[str, str]) -> None:
        """Give a topic another configuration."""
        self._set(self.topics[name]._replace(config=dict(config)))

    def add_partitions(self, name: str, total: int) -> None:
        topic = self.topics[name]
        replication = len(topic.partitions[0].replicas)
        new = (self._place(replication) for _ in range(total - len(topic.partitions)))
        self._set(topic._replace(partitions=(*topic.partitions, *new)))

    def _place(self, replication: int) -> PartitionImage:
        count = len(self.live)
        replicas = tuple(self.live[(self._placed + i) % count] for i in range(replication))
        self._placed += 1
        return PartitionImage(replicas, replicas, replicas[0])

    # --- Leaders and in-sync replicas ------------------------------------------------------------

    def elect(self, topic_partition: TopicPartition, node: int, *, unclean: bool = False) -> bool:
        """Make another replica the leader, or none (NO_LEADER); whether it could be."""
        topic = self.topics[topic_partition.topic]
        partition = topic.partitions[topic_partition.partition]
        if node == NO_LEADER:
            self._change(topic, topic_partition.partition, partition.isr, node)
            return True
        if node not in self.live or node not in partition.replicas:
            return False
        if node not in partition.isr and not unclean:
            return False
        self._change(topic, topic_partition.partition, partition.isr, node)
        return True

    def alter_isr(
        self,
        name: str,
        topic_id: uuid.UUID,
        number: int,
        seen: PartitionImage,
        isr: tuple[int, ...],
    ) -> ErrorCode:
        """A leader asks for other in-sync replicas (AlterPartition); `seen` is what it knows."""
        topic = self.topics.get(name)
        if topic is None or topic.topic_id != topic_id:
            return ErrorCode.UNKNOWN_TOPIC_ID
        partition = topic.partitions[number]
        if partition.epoch != seen.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if partition.change != seen.change:
            return ErrorCode.INVALID_UPDATE_VERSION
        if not set(isr) <= {*self.live, partition.leader}:
            return ErrorCode.INELIGIBLE_REPLICA
        self._change(topic, number, leader=partition.leader, isr=isr)
        return ErrorCode.NONE

    def fence(self, node: int) -> None:
        """A node is gone: it leads nothing, and is in sync nowhere where another one is."""
        if node not in self.live:
            return
        self.live = tuple(each for each in self.live if each != node)
        self._publish_live(self.live)
        for topic, number, partition in self._partitions():
            if node in partition.isr:
                isr = tuple(each for each in partition.isr if each != node) or partition.isr
                is_leader = partition.leader == node
                leader = self._choice(topic, partition, isr) if is_leader else None
                self._change(topic, number, isr, leader)

    def unfence(self, node: int) -> None:
        """A node is there: it leads where no other one can."""
        if node in self.live:
            return
        self.live = tuple(sorted((*self.live, node)))
        self._publish_live(self.live)
        for topic, number, partition in self._partitions():
            if partition.leader == NO_LEADER and node in partition.replicas:
                leader = self._choice(topic, partition, partition.isr)
                if leader != NO_LEADER:
                    self._change(topic, number, partition.isr, leader)

    def _choice(self, topic: TopicImage, partition: PartitionImage, isr: tuple[int, ...]) -> int:
        able = [each for each in partition.replicas if each in self.live]
        in_sync = [each for each in able if each in isr]
        unclean = topic.config.get("unclean.leader.election.enable", str(self.unclean))
        others = able if unclean.lower() == "true" else []
        return next(iter(in_sync or others), NO_LEADER)

    def _change(
        self, topic: TopicImage, number: int, isr: tuple[int, ...], leader: int | None
    ) -> None:
        partition = topic.partitions[number]
        leader = partition.leader if leader is None else leader
        if leader != NO_LEADER and leader not in isr:
            isr = (leader,)
        is_moved = leader != partition.leader
        if is_moved and leader not in (*partition.isr, NO_LEADER):
            self.unclean_elections.append(TopicPartition(topic.name, number))
        self._set(
            topic.changed(
                number,
                partition._replace(
                    isr=isr,
                    leader=leader,
                    epoch=partition.epoch + is_moved,
                    change=partition.change + 1,
                ),
            )
        )

    def _partitions(self) -> Iterable[tuple[TopicImage, int, PartitionImage]]:
        """Each partition with its topic, as it is when its turn comes."""
        for name in [*self.topics]:
            for number in range(len(self.topics[name].partitions)):
                topic = self.topics[name]
                yield topic, number, topic.partitions[number]

    def _set(self, topic: TopicImage) -> None:
        self.topics[topic.name] = topic
        self._publish(topic.name, topic)
