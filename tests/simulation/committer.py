"""Another program, which commits to the group at whose offsets a stream begins."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.groups import commit_offsets
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.collecting import states
from tests.simulation.kafka.services import SERVICES
from tests.simulation.processes import Process, Strand
from tests.simulation.scenario import GROUP
from tests.simulation.spark import DRIVER_HOST

if TYPE_CHECKING:
    from tests.simulation.world import World


def start(world: World) -> None:
    """Commit half of each log."""
    name, outcome = "committer", world.outcome
    wanted = world.committed_by_other = {
        TopicPartition(*partition): (state.start + state.high_watermark) // 2
        for partition, state in states(world).items()
    }
    client = SERVICES[world.scenario.service].client
    config = ClientConfig.from_options({"bootstrap.servers": world.servers, **client})

    def run() -> None:
        with closing(Cluster(config)) as cluster:
            commit_offsets(cluster, GROUP, wanted, Deadline.after(config.api_timeout_ms))

    def ended(result: object) -> None:
        is_before = outcome.lives == 0
        if is_before and not isinstance(result, BaseException):
            outcome.preset = {(tp.topic, tp.partition): at for tp, at in wanted.items()}

    outcome.preset = {}
    world.processes.start(Strand(name, Process(name, DRIVER_HOST)), run, ended)
