"""The brokers of a run behind proxies, with all that a run does to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.ports import HOST
from tests.admin import REPLICAS, Admin
from tests.endurance.proxy import Proxy
from tests.endurance.torture.fault_rounds import FaultLog
from tests.endurance.torture.faults import Stage
from tests.endurance.torture.ledger import Ledger
from tests.endurance.torture.rows import TopicTruth, Truth
from tests.endurance.torture.topics import Step, TopicPlan
from tests.endurance.torture.truth import read_truth
from tests.endurance.torture.writing import MESSAGE_MAX_BYTES, Writer

_WRITERS = 3
# A proxy listens at the broker's port of another loopback address, which brokers advertise.
_PROXY_HOST = "127.0.0.1{node_id}"
_CONFIG = {
    "advertised.listeners": f"PLAINTEXT://{_PROXY_HOST}:{{port}}",
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
    """Three brokers. Except for `stage`, the methods may be called from several threads.

    Attributes:
        proxies: By node id.
        client: Of this project, connected past the proxies.
        begun: When the run began, in seconds of `time.monotonic()`.
    """

    kafka: KafkaCluster
    admin: Admin
    proxies: dict[int, Proxy]
    client: Cluster
    fault_log: FaultLog
    begun: float

    @property
    def servers(self) -> str:
        """The addresses of the brokers, past the proxies."""
        return _direct(self.kafka)

    @property
    def proxied(self) -> str:
        """The addresses of the proxies."""
        return ",".join(f"{_host(each.node_id)}:{each.port}" for each in self.kafka.brokers)

    def write(self, plan: TopicPlan) -> TopicTruth:
        """Makes the topic, carries out the plan, waits until all is settled, and reads the truth.

        Raises:
            TruthError: The brokers do not have what they acknowledged.
        """
        writer = Writer(self.kafka, self.servers, self.admin, plan)
        writer.write()
        return self._truth(plan, writer)

    def write_all(self, plans: Sequence[TopicPlan]) -> Truth:
        """The same for several plans at the same time."""
        with ThreadPoolExecutor(_WRITERS) as pool:
            return {truth.topic: truth for truth in pool.map(self.write, plans)}

    def change(self, truth: TopicTruth, step: Step) -> TopicTruth:
        """Carries out a further step, and reads the truth again; the plan has the step then."""
        plan = truth.plan._replace(steps=(*truth.plan.steps, step))
        ledger, partitions = Ledger(truth), len(truth.partitions)
        writer = Writer(self.kafka, self.servers, self.admin, plan, partitions, ledger)
        writer.carry_out(step)
        return self._truth(plan, writer)

    def remove(self, topic: str) -> None:
        """Deletes a topic that is not needed any more."""
        self.admin.delete(topic)

    def stage(
        self,
        workers: Callable[[], list[int]],
        settle: Callable[[], None] = lambda: None,
        *,
        is_proxied: bool = True,
    ) -> Stage:
        """What faults act upon.

        Args:
            workers: The process ids of Spark's Python workers at the moment.
            settle: Returns when the next broker may be away.
            is_proxied: Whether queries are connected through the proxies.
        """
        proxies = self.proxies if is_proxied else {}
        return Stage(self.kafka, self.client, proxies, workers, settle)

    def _truth(self, plan: TopicPlan, writer: Writer) -> TopicTruth:
        return read_truth(self.servers, self.admin, plan, writer.partitions, writer.ledger)


@contextmanager
def running(folder: Path) -> Iterator[Scene]:
    """Three brokers as long as the block lasts; `faults.log` in the folder outlasts them."""
    with ExitStack() as stack:
        kafka = stack.enter_context(KafkaCluster(nodes=REPLICAS, config=_CONFIG, heap="512m"))
        proxies = {
            each.node_id: stack.enter_context(
                Proxy(_host(each.node_id), each.port, (each.host, each.port))
            )
            for each in kafka.brokers
        }
        config = ClientConfig.from_options({"bootstrap.servers": _direct(kafka)})
        client = stack.enter_context(closing(Cluster(config)))
        log = FaultLog(folder / "faults.log")
        yield Scene(kafka, Admin(_direct(kafka)), proxies, client, log, time.monotonic())


def _host(node_id: int) -> str:
    return _PROXY_HOST.format(node_id=node_id)


def _direct(kafka: KafkaCluster) -> str:
    return ",".join(f"{HOST}:{each.internal_port}" for each in kafka.brokers)
