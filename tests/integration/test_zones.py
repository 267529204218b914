"""Executors in zones: each reads from the replica in its own, as `${env:ZONE}` says."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.broker.commands import FAST_START_FLAGS
from tests.integration.clients import connect, soon
from tests.jobs import zoned
from tests.own_process import ROOT, run_command
from tests.standalone import SPARK_BIN, standalone_cluster
from tests.witness import produce

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.newest,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs several loopback hosts"),
    pytest.mark.timeout(600),
]

TOPIC = "zones"
PARTITIONS = 12
RECORDS = 200  # in each
ZONES = ("zone-1", "zone-2")
# Python runs this file at its start, in the workers of executors. Nothing else tells which broker
# the bytes of a task came from.
COUNTING = """
import os
if "COUNTED_IN" in os.environ:
    from kafka_protocol.client.broker.broker import Broker
    from kafka_protocol.messages.fetch import FetchResponse
    receive = Broker.receive
    def counting(self, sent, kind, deadline):
        response = receive(self, sent, kind, deadline)
        if isinstance(response, FetchResponse):
            parts = [each for topic in response.responses for each in topic.partitions]
            size = sum(len(each.records or b"") for each in parts)
            with open(f"{os.environ['COUNTED_IN']}/{os.getpid()}", "a") as file:
                print(os.environ.get("ZONE"), self.node_id, size, file=file)
        return response
    Broker.receive = counting
"""


@pytest.fixture(scope="module")
def zones() -> Iterator[KafkaCluster]:
    """Three brokers, broker n in `zone-n`, with a topic that has a replica on each."""
    config = {
        "broker.rack": "zone-{node_id}",
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    }
    with KafkaCluster(nodes=3, config=config) as kafka:
        with closing(connect(kafka)) as client:
            create_topic(client, NewTopic(TOPIC, PARTITIONS, replication_factor=3), soon())
        for partition in range(PARTITIONS):
            produce(kafka.bootstrap_servers, TOPIC, ["x" * 1_000] * RECORDS, partition)
        yield kafka


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("counted")


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory, counted: Path) -> Iterator[str]:
    """A master and two workers, whose environments say that they are in two zones."""
    folder = tmp_path_factory.mktemp("standalone")
    (folder / "sitecustomize.py").write_text(COUNTING)
    with standalone_cluster(
        folder,
        of_each=[{"ZONE": zone} for zone in ZONES],
        PYTHONPATH=f"{folder}:{ROOT}",
        PYSPARK_PYTHON=sys.executable,
        COUNTED_IN=str(counted),
    ) as url:
        yield url


def run(master: str, kafka: KafkaCluster, folder: Path, *options: str, **environment: str) -> Any:
    command = [
        *(str(SPARK_BIN / "spark-submit"), "--master", master),
        *("--conf", "spark.driver.host=127.0.0.1"),
        *("--conf", "spark.executor.memory=512m"),
        *("--conf", f"spark.executor.extraJavaOptions={' '.join(FAST_START_FLAGS)}"),
        *("--driver-java-options", " ".join(FAST_START_FLAGS)),
        *("--conf", "spark.log.level=ERROR"),
        *(str(zoned.__file__), kafka.bootstrap_servers, TOPIC, *options),
    ]
    python = {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    shown = run_command(folder, command, **python, **environment)
    return json.loads(shown.splitlines()[-1])


def bytes_in(counted: Path) -> Counter[tuple[str, int]]:
    """The bytes of records that executors of each zone have got from each broker."""
    sizes: Counter[tuple[str, int]] = Counter()
    for file in counted.iterdir():
        for line in file.read_text().splitlines():
            zone, node_id, size = line.split()
            sizes[zone, int(node_id)] += int(size)
        file.unlink()
    return +sizes


def test_each_executor_reads_from_the_replica_in_its_zone(
    zones: KafkaCluster, master: str, counted: Path, tmp_path: Path
) -> None:
    without = run(master, zones, tmp_path)
    sizes = bytes_in(counted)
    assert without["rows"] == PARTITIONS * RECORDS
    # The leaders are on all three.
    assert {zone for zone, _ in sizes} == {*ZONES}
    assert {node_id for _, node_id in sizes} == {1, 2, 3}
    across = sum(size for (zone, node), size in sizes.items() if zone != f"zone-{node}")
    assert across > sum(sizes.values()) / 3

    own = "kafka.client.rack=${env:ZONE}"
    read = run(master, zones, tmp_path, own, "kafka.client.id=app-${env:ZONE}", ZONE="zone-3")
    sizes = bytes_in(counted)
    assert read["rows"] == PARTITIONS * RECORDS
    assert {*sizes} == {("zone-1", 1), ("zone-2", 2)}
    assert sum(sizes.values()) > PARTITIONS * RECORDS * 1_000
    driver, *executors = read["found"].values()
    assert [len(each) for each in executors] == [1, 1]
    assert "rack 'zone-3': broker 3 of rack 'zone-3' serves zones-0" in driver[0]
    served = sorted(each[0] for each in executors)
    assert all(f"rack 'zone-{n}': broker {n} of" in text for n, text in enumerate(served, 1))


def test_a_variable_that_executors_lack_is_named(
    zones: KafkaCluster, master: str, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match=r"client\.rack' refers to \$\{env:ONLY_HERE\}, which"):
        run(master, zones, tmp_path, "kafka.client.rack=${env:ONLY_HERE}", ONLY_HERE="zone-3")
