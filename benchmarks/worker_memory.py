"""The memory and the descriptors that a reused Python worker keeps after its tasks, without Spark.

A process reads and writes as a worker does, task by task; then it is measured. Fake brokers,
in a process of their own, send Fetch responses of several megabytes. `python -m
benchmarks.worker_memory` prints a row for each workload.
"""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.pool import shared_cluster, shared_producer
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.reading.range_reader import PlannedRange, RangeReader
from kafka_spark_source.schema import source_schema
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import batch_of
from tests.fakes.tls import authority_pem, certificate, server_context
from tests.simulation.kafka.batches import placed

TOPIC: Final = "t"
_RECORD: Final = bytes(100_000)
_BATCHES: Final = 12
PROCESSES: Final = get_context("spawn")

# Reads or writes one partition.
Task: TypeAlias = Callable[[ClientConfig, int], None]


class Retained(NamedTuple):
    """The memory and descriptors that a process keeps, above one that has read nothing."""

    mebibytes: float
    descriptors: int


def serve(nodes: int, tls: bool, pipe: Connection) -> None:
    """Run brokers until the pipe is closed; each leads one partition, and all have one log.

    Sends how to connect.
    """
    batch = batch_of(*[_RECORD] * 10)
    log = [placed(batch, 10 * number, epoch=0) for number in range(_BATCHES)]
    cluster = FakeCluster(nodes)
    security = SecurityOptions()
    if tls:
        security = SecurityOptions(protocol="SSL", truststore_certificates=authority_pem())
        context = server_context(certificate("127.0.0.1"))
        for node in cluster.nodes.values():
            node.broker.tls = context
    with cluster:
        cluster.add_topic(TOPIC, nodes, replicas=1)
        with cluster.changing():
            for number in range(nodes):
                cluster.simulated.best(TopicPartition(TOPIC, number)).append(log)
        pipe.send(ClientConfig(bootstrap_servers=cluster.bootstrap_servers, security=security))
        pipe.poll(None)


def read(config: ClientConfig, partition: int) -> None:
    """One task: read a partition from its beginning to its end."""
    wanted = OffsetRange(TopicPartition(TOPIC, partition), EARLIEST, LATEST)
    reader = RangeReader(tuple(source_schema(include_headers=False).names), True, 60_000)
    for _ in reader.read(shared_cluster(config), [PlannedRange(wanted, None)]):
        pass


def write(config: ClientConfig, partition: int) -> None:
    """One task: write one batch to a partition."""
    with shared_producer(config) as producer:
        producer.add(TopicPartition(TOPIC, partition), batch_of(*[_RECORD] * 9))


def many_brokers(task: Task, config: ClientConfig, nodes: int) -> None:
    for partition in range(nodes):
        task(config, partition)


def many_configurations(task: Task, config: ClientConfig, count: int) -> None:
    for number in range(count):
        task(replace(config, client_id=f"query-{number}"), 0)


class Workload(NamedTuple):
    """A task so many times in a process, with how many brokers, and whether over TLS."""

    run: Callable[[Task, ClientConfig, int], None]
    task: Task
    brokers: int
    number: int
    tls: bool = False


WORKLOADS: Final = {
    "40 brokers, read": Workload(many_brokers, read, 40, 40),
    "100 brokers, read": Workload(many_brokers, read, 100, 100),
    "100 brokers, TLS, read": Workload(many_brokers, read, 100, 100, tls=True),
    "100 brokers, written": Workload(many_brokers, write, 100, 100),
    "100 brokers, TLS, written": Workload(many_brokers, write, 100, 100, tls=True),
    "100 configurations, read": Workload(many_configurations, read, 1, 100),
    "100 configurations, TLS, read": Workload(many_configurations, read, 1, 100, tls=True),
    "100 configurations, written": Workload(many_configurations, write, 1, 100),
}


def measure(name: str, config: ClientConfig, pipe: Connection) -> None:
    """Run a workload in this process, and send how much it keeps."""
    workload = WORKLOADS[name]
    import_module("kafka_protocol.columnar.reading.decode")  # an idle worker has Arrow loaded
    before = used()
    workload.run(workload.task, config, workload.number)
    gc.collect()
    after = used()
    mebibytes = after.mebibytes - before.mebibytes
    pipe.send(Retained(mebibytes, after.descriptors - before.descriptors))


def used() -> Retained:
    """The resident memory and the descriptors of this process; needs Linux."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    mebibytes = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    return Retained(mebibytes, len([*Path("/proc/self/fd").iterdir()]))


def retained(name: str) -> Retained:
    """How much a workload's process keeps, each run with brokers and a process of its own."""
    ours, theirs = PROCESSES.Pipe()
    workload = WORKLOADS[name]
    served = (workload.brokers, workload.tls, theirs)
    brokers = PROCESSES.Process(target=serve, args=served, daemon=True)
    brokers.start()
    result, results = PROCESSES.Pipe()
    worker = PROCESSES.Process(target=measure, args=(name, ours.recv(), results), daemon=True)
    worker.start()
    kept: Retained = result.recv()
    for process in (worker, brokers):
        process.terminate()
        process.join()
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", default=[*WORKLOADS])
    for name in parser.parse_args().workloads:
        mebibytes, descriptors = retained(name)
        print(f"{name:30}{mebibytes:8.1f} MiB{descriptors:6} descriptors", flush=True)


if __name__ == "__main__":
    main()
