"""The brokers of a run, with all that a run does to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka_spark_source.testing import KafkaCluster
from tests.endurance.torture.faults import FaultLog
from tests.endurance.torture.rows import TopicTruth, Truth
from tests.endurance.torture.topics import Step, TopicPlan


@dataclass(frozen=True)
class Scene:
    """Three brokers. Except for `faults`, the methods may be called from several threads."""

    kafka: KafkaCluster

    @property
    def servers(self) -> str:
        """The addresses of the brokers."""
        return self.kafka.bootstrap_servers

    def write(self, plan: TopicPlan) -> TopicTruth:
        """Makes the topic, carries out the plan, waits until all is settled, and reads the truth.

        Raises:
            TruthError: The brokers do not have what they acknowledged.
        """
        raise NotImplementedError

    def write_all(self, plans: Sequence[TopicPlan]) -> Truth:
        """The same for several plans at the same time."""
        raise NotImplementedError

    def change(self, truth: TopicTruth, step: Step) -> TopicTruth:
        """Carries out a further step, and reads the truth again; the plan has the step then."""
        raise NotImplementedError

    def faults(
        self, chance: random.Random, workers: Callable[[], list[int]]
    ) -> AbstractContextManager[FaultLog]:
        """Faults come and go, one at a time, as long as the block lasts; then all is repaired.

        Args:
            chance: Used in a thread of its own until the block has ended.
            workers: The process ids of Spark's Python workers at the moment.
        """
        raise NotImplementedError


@contextmanager
def running(folder: Path) -> Iterator[Scene]:
    """Three brokers as long as the block lasts; what must outlast them is in the folder."""
    yield Scene(KafkaCluster(nodes=3))
