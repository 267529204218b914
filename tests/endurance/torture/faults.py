"""The faults: each is caused on entry to its `with` block, and repaired at the end of it.

While queries run, two brokers are never away together: with three replicas, two of them in sync,
every query can succeed. Copies go on for longer than any fault, so two brokers may be paused.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline as RequestDeadline
from kafka_protocol.client.clock import Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from kafka_spark_source.testing import KafkaCluster
from tests.endurance.brokers import killed, paused, send, stopped
from tests.endurance.proxy import Proxy
from tests.integration.access import limit_rate
from tests.integration.clients import soon

if TYPE_CHECKING:
    from tests.endurance.torture.copies.scene import Copies

_QUOTAS: Final = ("consumer_byte_rate", "producer_byte_rate")
_LITTLE_BYTES_PER_SECOND: Final = 10_000.0
_NO_LIMIT: Final = 1e12
# The brokers' quota.window.num times quota.window.size.seconds: about the throttle time of a client
# that has little to read.
_THROTTLE_SECONDS: Final = 11
_DELAYS_SECONDS: Final = (0.02, 0.3)
_CUTS_A_SECOND: Final = 2


class Place(Enum):
    """What a fault acts upon. The faults of a round have different places."""

    BROKERS = "brokers"
    NETWORK = "network"
    SPARK = "Spark"


@dataclass(frozen=True)
class Stage:
    """All that faults act upon.

    Attributes:
        proxies: By node id; empty if nothing is connected through them.
        workers: The process ids of Spark's Python workers at the moment.
        settle: Returns when the next broker may be away.
        hold: Waits for so many seconds, or for less if the faults must end.
        copies: The copies that are made meanwhile; None while queries run.
    """

    kafka: KafkaCluster
    client: Cluster
    proxies: Mapping[int, Proxy]
    workers: Callable[[], list[int]]
    settle: Callable[[], None]
    hold: Callable[[float], object] = time.sleep
    copies: Copies | None = None

    @property
    def nodes(self) -> list[int]:
        """The ids of the brokers."""
        return sorted(broker.node_id for broker in self.kafka.brokers)

    @property
    def the_copies(self) -> Copies:
        """The copies, for faults that only they have."""
        assert self.copies is not None
        return self.copies


Cause = Callable[[Stage, random.Random], AbstractContextManager[str]]
"""Causes a fault, and gives its victim for the log; "" if there was none."""


class Fault(NamedTuple):
    """A kind of fault.

    Attributes:
        place: After faults of Spark a query may fail; it is started again.
        of_copies: Whether only copies can have it.
        starts_anew: All processes of Spark are new at the end of it.
    """

    name: str
    place: Place
    cause: Cause
    of_copies: bool = False
    starts_anew: bool = False


def possible(stage: Stage) -> list[Fault]:
    """The faults that there can be on a stage."""
    return [
        each
        for each in FAULTS
        if (stage.proxies or each.place is not Place.NETWORK)
        and (stage.copies is not None or not each.of_copies)
    ]


# --- Brokers -------------------------------------------------------------------------------------


def _one_broker(fault: Callable[[KafkaCluster, int], AbstractContextManager[None]]) -> Cause:
    @contextmanager
    def cause(stage: Stage, chance: random.Random) -> Iterator[str]:
        victim = chance.choice(stage.nodes)
        with fault(stage.kafka, victim):
            yield f"{victim}"

    return cause


@contextmanager
def _controller_killed(stage: Stage, chance: random.Random) -> Iterator[str]:
    victim = _active_controller(stage)
    with killed(stage.kafka, victim):
        yield f"{victim}"


def _active_controller(stage: Stage) -> int:
    """The leader of the KRaft quorum; Metadata names any broker instead."""
    topic = DescribeQuorumRequest.TopicData(
        topic_name="__cluster_metadata",
        partitions=[DescribeQuorumRequest.TopicData.PartitionData(partition_index=0)],
    )

    def describe(broker: Broker, deadline: RequestDeadline) -> int:
        request = DescribeQuorumRequest(topics=[topic])
        response = broker.request(request, DescribeQuorumResponse, deadline)
        return response.topics[0].partitions[0].leader_id

    return stage.client.with_any_broker(describe, soon())


@contextmanager
def _quorum_paused(stage: Stage, chance: random.Random) -> Iterator[str]:
    """Two of three brokers, so that no leader and no controller can be elected."""
    victims = chance.sample(stage.nodes, 2)
    with paused(stage.kafka, victims):
        yield f"{victims}"


@contextmanager
def _rolling_restart(stage: Stage, chance: random.Random) -> Iterator[str]:
    victims = chance.sample(stage.nodes, len(stage.nodes))
    for node_id in victims:
        with stopped(stage.kafka, node_id):
            pass
        stage.settle()
    yield f"{victims}"


@contextmanager
def _partition_added(stage: Stage, chance: random.Random) -> Iterator[str]:
    yield stage.the_copies.add_partition()


@contextmanager
def _quota(stage: Stage, chance: random.Random) -> Iterator[str]:
    # For how long brokers throttle a client grows with the bytes over the quota, without a limit,
    # and the end of the quota does not shorten it. So no copy may have much to read now.
    stage.the_copies.wait_until_nearly_level()
    _limit(stage, _LITTLE_BYTES_PER_SECOND)
    yield "all clients"
    _limit(stage, _NO_LIMIT)
    # A throttled client waits for as long as the broker said before.
    time.sleep(_THROTTLE_SECONDS)


def _limit(stage: Stage, bytes_per_second: float) -> None:
    """Set the quotas, again if the connection was lost with an earlier fault."""
    config = stage.client.config
    retry = Retry(config, soon(), config.connection_setup_timeout_ms)
    client_id = stage.the_copies.client_id
    for quota in _QUOTAS:
        retry.until_done(partial(limit_rate, stage.client, client_id, quota, bytes_per_second))


# --- Network -------------------------------------------------------------------------------------


@contextmanager
def _connections_cut(stage: Stage, chance: random.Random) -> Iterator[str]:
    for _ in range(chance.randint(1, 6)):
        for proxy in _some(stage, chance).values():
            proxy.cut()
        time.sleep(1 / _CUTS_A_SECOND)
    yield "again and again"


@contextmanager
def _connections_refused(stage: Stage, chance: random.Random) -> Iterator[str]:
    proxies = _some(stage, chance)
    for proxy in proxies.values():
        proxy.refuse()
    yield f"{[*proxies]}"
    for proxy in proxies.values():
        proxy.accept()


@contextmanager
def _half_open(stage: Stage, chance: random.Random) -> Iterator[str]:
    proxies = _some(stage, chance)
    for proxy in proxies.values():
        proxy.silence()
    yield f"{[*proxies]}"


@contextmanager
def _slow_network(stage: Stage, chance: random.Random) -> Iterator[str]:
    proxies = _some(stage, chance)
    for proxy in proxies.values():
        proxy.delay(chance.uniform(*_DELAYS_SECONDS))
    yield f"{[*proxies]}"
    for proxy in proxies.values():
        proxy.delay(0)


def _some(stage: Stage, chance: random.Random) -> dict[int, Proxy]:
    chosen = chance.sample(stage.nodes, chance.randint(1, len(stage.nodes)))
    return {node_id: stage.proxies[node_id] for node_id in chosen}


# --- Spark ---------------------------------------------------------------------------------------


@contextmanager
def _driver_killed(stage: Stage, chance: random.Random) -> Iterator[str]:
    job = stage.the_copies.job
    job.kill()
    yield "the driver"
    job.start()


def _process_killed(processes: Callable[[Stage], list[int]]) -> Cause:
    @contextmanager
    def cause(stage: Stage, chance: random.Random) -> Iterator[str]:
        yield _named(send(chance, processes(stage), signal.SIGKILL))

    return cause


def _process_paused(processes: Callable[[Stage], list[int]]) -> Cause:
    @contextmanager
    def cause(stage: Stage, chance: random.Random) -> Iterator[str]:
        victims = send(chance, processes(stage), signal.SIGSTOP)
        yield _named(victims)
        send(chance, victims, signal.SIGCONT)

    return cause


def _named(pids: list[int]) -> str:
    return ", ".join(f"process {pid}" for pid in pids)


def _workers(stage: Stage) -> list[int]:
    return stage.workers()


def _executors(stage: Stage) -> list[int]:
    return stage.the_copies.job.driver.executors()


def _one_paused(kafka: KafkaCluster, node_id: int) -> AbstractContextManager[None]:
    return paused(kafka, [node_id])


FAULTS: Final = (
    Fault("broker killed", Place.BROKERS, _one_broker(killed)),
    Fault("broker stopped", Place.BROKERS, _one_broker(stopped)),
    Fault("broker paused", Place.BROKERS, _one_broker(_one_paused)),
    Fault("controller killed", Place.BROKERS, _controller_killed),
    Fault("rolling restart", Place.BROKERS, _rolling_restart),
    Fault("two brokers paused", Place.BROKERS, _quorum_paused, of_copies=True),
    Fault("partition added", Place.BROKERS, _partition_added, of_copies=True),
    Fault("quota", Place.BROKERS, _quota, of_copies=True),
    Fault("connections cut", Place.NETWORK, _connections_cut),
    Fault("connections refused", Place.NETWORK, _connections_refused),
    Fault("half-open connections", Place.NETWORK, _half_open),
    Fault("slow network", Place.NETWORK, _slow_network),
    Fault("Python worker killed", Place.SPARK, _process_killed(_workers)),
    Fault("Python worker paused", Place.SPARK, _process_paused(_workers)),
    Fault("driver killed", Place.SPARK, _driver_killed, of_copies=True, starts_anew=True),
    Fault("executor killed", Place.SPARK, _process_killed(_executors), of_copies=True),
    Fault("executor paused", Place.SPARK, _process_paused(_executors), of_copies=True),
)
