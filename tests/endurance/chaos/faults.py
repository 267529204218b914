"""The faults: each is caused on entry to its `with` block, and repaired at the end of it."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from functools import partial
from typing import NamedTuple

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline as RequestDeadline
from kafka_protocol.client.clock import Retry
from kafka_protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.endurance.brokers import killed, paused, send, stopped
from tests.endurance.chaos.scene import MOST_PARTITIONS, Scene
from tests.integration.access import limit_rate
from tests.integration.clients import soon
from tests.jobs.chaos_copies import CLIENT_ID

_QUOTAS = ("consumer_byte_rate", "producer_byte_rate")
_LITTLE_BYTES_PER_SECOND = 10_000.0
_NO_LIMIT = 1e12
# The brokers' quota.window.num times quota.window.size.seconds: about the throttle time of a client
# that has little to read.
_THROTTLE_SECONDS = 11
# The records of three seconds.
_LEVEL_RECORDS = 150
_LEVEL_SECONDS = 60
_DELAYS_SECONDS = (0.02, 0.3)
_CUTS_A_SECOND = 2


class Place(Enum):
    """What a fault acts upon. The faults of a round have different places."""

    BROKERS = "brokers"
    NETWORK = "network"
    SPARK = "Spark"


Cause = Callable[[Scene, random.Random], AbstractContextManager[None]]


class Fault(NamedTuple):
    """A kind of fault.

    Attributes:
        place: After faults of Spark a query may fail; it is started again.
        starts_anew: All processes of Spark are new at the end of it.
    """

    name: str
    place: Place
    cause: Cause
    starts_anew: bool = False


# --- Brokers -------------------------------------------------------------------------------------


@contextmanager
def _broker_killed(scene: Scene, chance: random.Random) -> Iterator[None]:
    with killed(scene.kafka, chance.choice(scene.nodes)):
        yield


@contextmanager
def _controller_killed(scene: Scene, chance: random.Random) -> Iterator[None]:
    with killed(scene.kafka, _active_controller(scene)):
        yield


def _active_controller(scene: Scene) -> int:
    """The leader of the KRaft quorum; Metadata names any broker instead."""
    topic = DescribeQuorumRequest.TopicData(
        topic_name="__cluster_metadata",
        partitions=[DescribeQuorumRequest.TopicData.PartitionData(partition_index=0)],
    )

    def describe(broker: Broker, deadline: RequestDeadline) -> int:
        request = DescribeQuorumRequest(topics=[topic])
        response = broker.request(request, DescribeQuorumResponse, deadline)
        return response.topics[0].partitions[0].leader_id

    return scene.client.with_any_broker(describe, soon())


@contextmanager
def _broker_paused(scene: Scene, chance: random.Random) -> Iterator[None]:
    with paused(scene.kafka, [chance.choice(scene.nodes)]):
        yield


@contextmanager
def _quorum_paused(scene: Scene, chance: random.Random) -> Iterator[None]:
    """Two of three brokers, so that no leader and no controller can be elected."""
    with paused(scene.kafka, chance.sample(scene.nodes, 2)):
        yield


@contextmanager
def _rolling_restart(scene: Scene, chance: random.Random) -> Iterator[None]:
    for node_id in chance.sample(scene.nodes, len(scene.nodes)):
        with stopped(scene.kafka, node_id):
            pass
    yield


@contextmanager
def _partition_added(scene: Scene, chance: random.Random) -> Iterator[None]:
    count = len(scene.watcher.records["source"]) + 1
    if count <= MOST_PARTITIONS:
        scene.journal.add_partitions(scene.source, count)
    yield


@contextmanager
def _quota(scene: Scene, chance: random.Random) -> Iterator[None]:
    # For how long brokers throttle a client grows with the bytes over the quota, without a limit,
    # and the end of the quota does not shorten it. So no copy may have much to read now.
    Deadline(_LEVEL_SECONDS).wait_for(lambda: scene.watcher.most_behind < _LEVEL_RECORDS)
    _limit(scene, _LITTLE_BYTES_PER_SECOND)
    yield
    _limit(scene, _NO_LIMIT)
    # A throttled client waits for as long as the broker said before.
    time.sleep(_THROTTLE_SECONDS)


def _limit(scene: Scene, bytes_per_second: float) -> None:
    """Set the quotas, again if the connection was lost with an earlier fault."""
    config = scene.client.config
    retry = Retry(config, soon(), config.connection_setup_timeout_ms)
    for quota in _QUOTAS:
        retry.until_done(partial(limit_rate, scene.client, CLIENT_ID, quota, bytes_per_second))


# --- Network -------------------------------------------------------------------------------------


@contextmanager
def _connections_cut(scene: Scene, chance: random.Random) -> Iterator[None]:
    for _ in range(chance.randint(1, 6)):
        for node_id in chance.sample(scene.nodes, chance.randint(1, len(scene.nodes))):
            scene.proxies[node_id].cut()
        time.sleep(1 / _CUTS_A_SECOND)
    yield


@contextmanager
def _connections_refused(scene: Scene, chance: random.Random) -> Iterator[None]:
    proxies = [scene.proxies[each] for each in _some(scene, chance)]
    for proxy in proxies:
        proxy.refuse()
    yield
    for proxy in proxies:
        proxy.accept()


@contextmanager
def _half_open(scene: Scene, chance: random.Random) -> Iterator[None]:
    for node_id in _some(scene, chance):
        scene.proxies[node_id].silence()
    yield


@contextmanager
def _slow_network(scene: Scene, chance: random.Random) -> Iterator[None]:
    proxies = [scene.proxies[each] for each in _some(scene, chance)]
    for proxy in proxies:
        proxy.delay(chance.uniform(*_DELAYS_SECONDS))
    yield
    for proxy in proxies:
        proxy.delay(0)


def _some(scene: Scene, chance: random.Random) -> list[int]:
    return chance.sample(scene.nodes, chance.randint(1, len(scene.nodes)))


# --- Spark ---------------------------------------------------------------------------------------


@contextmanager
def _driver_killed(scene: Scene, chance: random.Random) -> Iterator[None]:
    scene.job.kill()
    yield
    scene.job.start()


def _process_killed(processes: Callable[[Scene], list[int]]) -> Cause:
    @contextmanager
    def cause(scene: Scene, chance: random.Random) -> Iterator[None]:
        send(chance, processes(scene), signal.SIGKILL)
        yield

    return cause


def _process_paused(processes: Callable[[Scene], list[int]]) -> Cause:
    @contextmanager
    def cause(scene: Scene, chance: random.Random) -> Iterator[None]:
        stopped = send(chance, processes(scene), signal.SIGSTOP)
        yield
        send(chance, stopped, signal.SIGCONT)

    return cause


def _workers(scene: Scene) -> list[int]:
    return scene.job.driver.workers()


def _executors(scene: Scene) -> list[int]:
    return scene.job.driver.executors()


FAULTS = (
    Fault("broker killed", Place.BROKERS, _broker_killed),
    Fault("controller killed", Place.BROKERS, _controller_killed),
    Fault("broker paused", Place.BROKERS, _broker_paused),
    Fault("two brokers paused", Place.BROKERS, _quorum_paused),
    Fault("rolling restart", Place.BROKERS, _rolling_restart),
    Fault("partition added", Place.BROKERS, _partition_added),
    Fault("quota", Place.BROKERS, _quota),
    Fault("connections cut", Place.NETWORK, _connections_cut),
    Fault("connections refused", Place.NETWORK, _connections_refused),
    Fault("half-open connections", Place.NETWORK, _half_open),
    Fault("slow network", Place.NETWORK, _slow_network),
    Fault("driver killed", Place.SPARK, _driver_killed, starts_anew=True),
    Fault("Python worker killed", Place.SPARK, _process_killed(_workers)),
    Fault("Python worker paused", Place.SPARK, _process_paused(_workers)),
    Fault("executor killed", Place.SPARK, _process_killed(_executors)),
    Fault("executor paused", Place.SPARK, _process_paused(_executors)),
)
