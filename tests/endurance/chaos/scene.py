"""All that faults act upon: brokers behind proxies, writers, the job that copies, the watcher."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.ports import HOST
from tests.endurance.chaos.proxy import Proxy
from tests.endurance.chaos.sinks import Watcher
from tests.endurance.chaos.transactions import transactions
from tests.integration.clients import soon
from tests.jobs.chaos_copies import FAILED
from tests.stream_driver import Driver
from tests.stream_records import Journal

NODES = 3
FIRST_PARTITIONS = 3
# The copies have as many from the start.
MOST_PARTITIONS = 6
_WRITERS = 2
_INTERVAL_SECONDS = 0.04
# A proxy listens at the broker's port of another loopback address, which brokers advertise.
_PROXY_HOST = "127.0.0.1{node_id}"
_TOPIC_CONFIG = {"min.insync.replicas": "2"}


class CopyingJob:
    """The Spark job, started again in a process of its own after each end."""

    def __init__(self, folder: Path, options: dict[str, str]) -> None:
        self._folder = folder
        self._options = options
        self._drivers: list[Driver] = []

    @property
    def driver(self) -> Driver:
        """The driver that runs now."""
        return self._drivers[-1]

    def start(self) -> None:
        """Starts a driver, and waits until all queries run."""
        folder = self._folder / f"driver-{len(self._drivers)}"
        folder.mkdir()
        self._drivers.append(Driver(folder, "pykafka", self._options, "chaos_copies"))
        self.driver.wait_for_start()

    def kill(self) -> None:
        """Ends the driver with all its processes at once."""
        if self._drivers:
            self.driver.kill()

    def failures(self) -> list[str]:
        """What queries printed when they failed, of all drivers."""
        return [
            line.removeprefix(FAILED)
            for driver in self._drivers
            for line in driver.printed().splitlines()
            if line.startswith(FAILED)
        ]


@dataclass(frozen=True)
class Scene:
    """A running scene.

    Attributes:
        proxies: By node id.
        direct_servers: The brokers without the proxies.
        client: Connected to these.
        source: The topic that is copied.
    """

    kafka: KafkaCluster
    proxies: dict[int, Proxy]
    direct_servers: str
    client: Cluster
    journal: Journal
    source: str
    job: CopyingJob
    watcher: Watcher

    @property
    def nodes(self) -> list[int]:
        """The ids of the brokers."""
        return sorted(self.proxies)

    @contextmanager
    def writing(self, chance: random.Random) -> Iterator[None]:
        """Writes to the source as long as the block lasts, past the proxies."""
        with ExitStack() as stack:
            stack.enter_context(self.journal.writing(self.source, _WRITERS, _INTERVAL_SECONDS))
            stack.enter_context(transactions(self.direct_servers, self.source, chance))
            yield


@contextmanager
def running(folder: Path) -> Iterator[Scene]:
    """The scene, after all queries were started; its files are in the folder."""
    advertised = f"PLAINTEXT://{_PROXY_HOST}:{{port}}"
    config = {"advertised.listeners": advertised}
    with ExitStack() as stack:
        kafka = stack.enter_context(KafkaCluster(nodes=NODES, config=config))
        hosts = {each.node_id: _PROXY_HOST.format(node_id=each.node_id) for each in kafka.brokers}
        proxies = {
            broker.node_id: stack.enter_context(
                Proxy(hosts[broker.node_id], broker.port, (broker.host, broker.port))
            )
            for broker in kafka.brokers
        }
        direct = ",".join(f"{HOST}:{broker.internal_port}" for broker in kafka.brokers)
        proxied = ",".join(f"{hosts[broker.node_id]}:{broker.port}" for broker in kafka.brokers)
        options = ClientConfig.from_options({"bootstrap.servers": direct})
        client = stack.enter_context(closing(Cluster(options)))
        run = uuid.uuid4().hex[:8]
        topics = {name: f"{name}-{run}" for name in ("source", "again", "once")}
        for name, topic in topics.items():
            partitions = FIRST_PARTITIONS if name == "source" else MOST_PARTITIONS
            new = NewTopic(topic, partitions, NODES, configs=_TOPIC_CONFIG)
            create_topic(client, new, soon())
        copies = {name: topics[name] for name in ("again", "once")}
        state = folder / "state"
        job = CopyingJob(folder, {"state": str(state), "servers": proxied, **topics})
        stack.callback(job.kill)
        source = topics["source"]
        watcher = stack.enter_context(Watcher(direct, source, copies, state / "files"))
        job.start()
        yield Scene(kafka, proxies, direct, client, Journal(direct), source, job, watcher)
