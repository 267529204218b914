"""Faults after which records of the input are gone: what they were is kept for the judge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from kafka_protocol.records.record import Record
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.cluster import NoLeaderError
from tests.simulation.outcome import Cut, LogRecord
from tests.simulation.scenario import INPUT

if TYPE_CHECKING:
    from tests.simulation.world import World


class Losses:
    """The deleted records of a world.

    Attributes:
        deleted: Records that were in a log when something was deleted from it.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.deleted: dict[TopicPartition, list[LogRecord]] = defaultdict(list)
        self._incarnations: list[frozenset[bytes]] = []
        self._before_cuts: list[tuple[TopicPartition, list[LogRecord], list[Record]]] = []

    def delete_records(self, partition: TopicPartition, share: float) -> None:
        """Delete a share of the records of a partition."""
        cluster = self._world.cluster
        if partition not in self._world.partitions(INPUT) or not self._is_decided(partition):
            return
        with suppress(NoLeaderError):
            log, before = self._world.log(partition), cluster.log_start(partition)
            offset = before + int((cluster.high_watermark(partition) - before) * share)
            cluster.delete_records(partition, offset)
            self._keep_before(log, partition)

    def compact(self) -> None:
        """Compact the input."""
        for partition in self._world.partitions(INPUT):
            try:
                self.deleted[partition] += self._world.log(partition)
            except NoLeaderError:
                return
        self._world.cluster.compact(INPUT)

    def apply_retention(self, config: Mapping[str, str]) -> None:
        """Delete what is too old or too much."""
        for partition in self._world.partitions(INPUT):
            if not self._is_decided(partition):
                continue
            with suppress(NoLeaderError):
                log = self._world.log(partition)
                self._world.cluster.apply_retention(partition, config)
                self._keep_before(log, partition)

    def elect_behind(self, number: int, node: int, after_ms: float) -> None:
        """Cut a replica off, and make it the leader when it lacks something."""
        cluster, partition = self._world.cluster, TopicPartition(INPUT, number)
        cluster.isolate(node)

        def elect() -> None:
            if partition not in self._world.partitions(INPUT):
                return
            with suppress(NoLeaderError):
                log = self._world.log(partition)
                self.deleted[partition] += log
                self._before_cuts.append((partition, log, cluster.without_epochs(partition)))
                cluster.elect(partition, node, unclean=True)

        self._world.scheduler.call_after(after_ms, elect)

    def rejoin(self, _number: int, node: int) -> None:
        """Let the replica take part again."""
        self._world.cluster.rejoin(node)

    def recreate(self, partitions: int) -> None:
        """Delete the input, and create it again with another id."""
        cluster, topic = self._world.cluster, self._world.scenario.topics[0]
        for partition in self._world.partitions(INPUT):
            with suppress(NoLeaderError):
                self.deleted[partition] += self._world.log(partition)
        self._incarnations.append(self._values())
        cluster.delete_topic(INPUT)
        cluster.create_topic(INPUT, partitions, topic.replication, dict(topic.config))

    def incarnations(self) -> list[frozenset[bytes]]:
        """The values in each incarnation of the input, at its end or now."""
        return [*self._incarnations, self._values()]

    def cuts(self) -> list[Cut]:
        """What each unclean election took out of a log, and what is there instead."""
        found = []
        for partition, log, untold in self._before_cuts:
            with suppress(NoLeaderError):
                now = {each[2:4]: each.offset for each in self._world.log(partition)}
                before = {each[2:4]: each.offset for each in log}
                begin = min((at for each, at in before.items() if each not in now), default=2**63)
                lost = before.keys() - now.keys()
                later = {each for each, at in now.items() if at >= begin and each not in before}
                without = lost & {(each.key, each.value) for each in untold}
                key = partition.topic, partition.partition
                found.append(Cut(key, *map(frozenset, (lost, later, without))))
        return found

    def _values(self) -> frozenset[bytes]:
        values: set[bytes] = set()
        for partition in self._world.partitions(INPUT):
            with suppress(NoLeaderError):
                values.update(each.value for each in self._world.log(partition) if each.value)
        return frozenset(values)

    def _is_decided(self, partition: TopicPartition) -> bool:
        """Whether the outcome of all records is known, so that the judge can be told."""
        cluster = self._world.cluster
        try:
            ends = cluster.high_watermark(partition), cluster.last_stable_offset(partition)
        except NoLeaderError:
            return False
        return ends[0] == ends[1]

    def _keep_before(self, log: list[LogRecord], partition: TopicPartition) -> None:
        start = self._world.cluster.log_start(partition)
        self.deleted[partition] += [each for each in log if each.offset < start]
