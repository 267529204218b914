"""The brokers of a run, with all that a run does to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka_spark_source.testing import KafkaCluster
from tests.admin import REPLICAS, Admin
from tests.endurance.torture.faults import FaultLog, Faults
from tests.endurance.torture.ledger import Ledger
from tests.endurance.torture.rows import TopicTruth, Truth
from tests.endurance.torture.topics import Step, TopicPlan
from tests.endurance.torture.truth import read_truth
from tests.endurance.torture.writing import MESSAGE_MAX_BYTES, Writer

_WRITERS = 3
_CONFIG = {
    "message.max.bytes": str(MESSAGE_MAX_BYTES),
    "replica.fetch.max.bytes": str(MESSAGE_MAX_BYTES),
    # Compaction, and retention by size, come soon; also in a broker that has just started.
    "log.cleaner.backoff.ms": "100",
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "500",
    # A broker that is killed knows later where its logs began.
    "log.flush.start.offset.checkpoint.interval.ms": "500",
    # Files of deleted topics and segments.
    "file.delete.delay.ms": "5000",
}


@dataclass(frozen=True)
class Scene:
    """Three brokers. Except for `faults`, the methods may be called from several threads."""

    kafka: KafkaCluster
    admin: Admin
    fault_log: FaultLog

    @property
    def servers(self) -> str:
        """The addresses of the brokers."""
        return self.kafka.bootstrap_servers

    def write(self, plan: TopicPlan) -> TopicTruth:
        """Makes the topic, carries out the plan, waits until all is settled, and reads the truth.

        Raises:
            TruthError: The brokers do not have what they acknowledged.
        """
        writer = Writer(self.kafka, self.admin, plan)
        writer.write()
        return self._truth(plan, writer)

    def write_all(self, plans: Sequence[TopicPlan]) -> Truth:
        """The same for several plans at the same time."""
        with ThreadPoolExecutor(_WRITERS) as pool:
            return {truth.topic: truth for truth in pool.map(self.write, plans)}

    def change(self, truth: TopicTruth, step: Step) -> TopicTruth:
        """Carries out a further step, and reads the truth again; the plan has the step then."""
        plan = truth.plan._replace(steps=(*truth.plan.steps, step))
        writer = Writer(self.kafka, self.admin, plan, len(truth.partitions), Ledger(truth))
        writer.carry_out(step)
        return self._truth(plan, writer)

    def remove(self, topic: str) -> None:
        """Deletes a topic that is not needed any more."""
        self.admin.delete(topic)

    def faults(
        self, chance: random.Random, workers: Callable[[], list[int]]
    ) -> AbstractContextManager[FaultLog]:
        """Faults come and go, one at a time, as long as the block lasts; then all is repaired.

        Args:
            chance: Used in a thread of its own until the block has ended.
            workers: The process ids of Spark's Python workers at the moment.
        """
        wait = self.admin.wait_for_replicas
        return Faults(self.kafka, chance, workers, wait, self.fault_log).running()

    def _truth(self, plan: TopicPlan, writer: Writer) -> TopicTruth:
        return read_truth(self.servers, self.admin, plan, writer.partitions, writer.ledger)


@contextmanager
def running(folder: Path) -> Iterator[Scene]:
    """Three brokers as long as the block lasts; `faults.log` in the folder outlasts them."""
    with KafkaCluster(nodes=REPLICAS, config=_CONFIG, heap="512m") as kafka:
        log = FaultLog(folder / "faults.log")
        yield Scene(kafka, Admin(kafka.bootstrap_servers), log)
