"""Mistakes of users: the first line of the error is one clear sentence, and nothing hangs."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.integration.clients import soon
from tests.integration.conftest import MakeTopic, Read, Write
from tests.integration.error_lines import first_line

pytestmark = [pytest.mark.integration, pytest.mark.spark]

LIMIT_SECONDS = 45
# The default is ten seconds.
QUICK = {"kafka.socket.connection.setup.timeout.ms": "1000"}


Refuses = Callable[..., str]


@pytest.fixture
def read_refuses(spark: SparkSession, kafka_cluster: KafkaCluster) -> Refuses:
    """Reads with options, expects an error within the limit, and returns its first line."""
    servers = {"kafka.bootstrap.servers": kafka_cluster.bootstrap_servers}

    def refuses(**options: str) -> str:
        named = servers | {name.replace("__", "."): value for name, value in options.items()}
        started = time.monotonic()
        with pytest.raises(PySparkException) as caught:
            spark.read.format("pykafka").options(**named).load().collect()
        assert time.monotonic() - started < LIMIT_SECONDS
        assert "Traceback" not in str(caught.value)
        return first_line(caught.value)

    return refuses


@contextmanager
def black_hole() -> Iterator[int]:
    """A port that accepts connections and never sends a byte."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sockets: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    sockets.append(listener.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(timeout=10)
        for sock in sockets:
            sock.close()


@pytest.mark.slow
def test_fault_01_no_broker_at_the_address(read_refuses: Refuses) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    nowhere = f"no-such-host.invalid:9092,127.0.0.1:{port}"
    line = read_refuses(subscribe="t", kafka__bootstrap__servers=nowhere, **QUICK)
    assert "No broker of kafka.bootstrap.servers can be reached" in line
    assert "no-such-host.invalid:9092: the host name cannot be resolved" in line
    assert f"127.0.0.1:{port}: connection refused" in line


def test_fault_01_one_good_address_is_enough(
    spark: SparkSession, kafka_cluster: KafkaCluster, make_topic: MakeTopic
) -> None:
    servers = f"no-such-host.invalid:9092,{kafka_cluster.bootstrap_servers}"
    reader = spark.read.format("pykafka").option("kafka.bootstrap.servers", servers)
    assert reader.option("subscribe", make_topic()).load().count() == 0


@pytest.mark.slow
def test_fault_02_unreachable_advertised_listener(
    own_clusters: ClusterFactory, read_refuses: Refuses
) -> None:
    kafka = own_clusters(config={"advertised.listeners": "PLAINTEXT://127.0.0.1:1"})
    servers = kafka.bootstrap_servers
    create_at_bootstrap_address(kafka, "t")
    line = read_refuses(subscribe="t", kafka__bootstrap__servers=servers, **QUICK)
    assert (
        f"kafka.bootstrap.servers {servers} answered, but broker 1 advertises 127.0.0.1:1" in line
    )
    assert "cannot be reached from here: 127.0.0.1:1: connection refused" in line
    assert "advertised.listeners" in line


def create_at_bootstrap_address(kafka: KafkaCluster, topic: str) -> None:
    """Create a topic without the broker's advertised address, which no client can reach."""
    config = ClientConfig.from_options({"bootstrap.servers": kafka.bootstrap_servers})
    broker = Broker(config.bootstrap_servers[0], None, config, soon())
    new = CreateTopicsRequest.CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
    response = broker.request(CreateTopicsRequest(topics=[new]), CreateTopicsResponse, soon())
    broker.close()
    assert response.topics[0].error_code == 0


@pytest.mark.slow
def test_fault_03_a_port_that_sends_nothing(read_refuses: Refuses) -> None:
    with black_hole() as port:
        line = read_refuses(subscribe="t", kafka__bootstrap__servers=f"127.0.0.1:{port}")
    assert f"bootstrap server (127.0.0.1:{port}): no response within" in line


@pytest.mark.slow
def test_fault_03_a_port_that_speaks_tls(
    own_clusters: ClusterFactory, read_refuses: Refuses
) -> None:
    kafka = own_clusters(security="SSL")
    line = read_refuses(subscribe="t", kafka__bootstrap__servers=kafka.bootstrap_servers)
    assert kafka.bootstrap_servers in line
    assert "TLS" in line


def test_missing_topic(read_refuses: Refuses) -> None:
    line = read_refuses(subscribe="no-such-topic")
    assert "Cannot read topic 'no-such-topic' of the option 'subscribe'" in line
    assert "UNKNOWN_TOPIC_OR_PARTITION" in line


def test_missing_partition(read_refuses: Refuses, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    line = read_refuses(assign=json.dumps({topic: [0, 7]}))
    assert f"Partition {topic}-7 does not exist" in line
    assert "failOnDataLoss" in line


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"subscribe": "t", "startingOffsets": "{bad"}, "Expected e.g. {"),
        ({"subscribe": "t", "assign": '{"t":[0]}'}, "Only one of the following options"),
        ({}, "One of the following options must be specified"),
        ({"subscribe": "t", "startingOfsets": "latest"}, "did you mean 'startingOffsets'"),
        ({"subscribe": "t", "kafka__bootstrap__servers": "localhost"}, "is not host:port"),
        ({"subscribe": "t", "minPartitions": "0"}, "minPartitions must be positive, got '0'"),
    ],
    ids=["not JSON", "two strategies", "no strategy", "misspelled", "no port", "minPartitions"],
)
def test_refused_options(read_refuses: Refuses, options: dict[str, str], words: str) -> None:
    assert words in read_refuses(**options)


def test_writing_to_a_missing_topic(spark: SparkSession, kafka_cluster: KafkaCluster) -> None:
    rows = spark.createDataFrame([("v",)], "value string")
    writer = rows.write.format("pykafka").mode("append").option("topic", "no-such-topic")
    started = time.monotonic()
    with pytest.raises(PySparkException) as caught:
        writer.option("kafka.bootstrap.servers", kafka_cluster.bootstrap_servers).save()
    assert time.monotonic() - started < LIMIT_SECONDS
    assert "Cannot write to topic 'no-such-topic'" in first_line(caught.value)


def test_fault_44_a_record_that_is_too_large(
    spark: SparkSession, kafka_cluster: KafkaCluster, make_topic: MakeTopic
) -> None:
    topic = make_topic(max_message_bytes="1000")
    rows = spark.createDataFrame([("x" * 5000,)], "value string")
    writer = rows.write.format("pykafka").mode("append").option("topic", topic)
    with pytest.raises(PySparkException) as caught:
        writer.option("kafka.bootstrap.servers", kafka_cluster.bootstrap_servers).save()
    line = first_line(caught.value)
    assert f"Produce to {topic}-0 on broker 1" in line
    assert "MESSAGE_TOO_LARGE" in line


@pytest.mark.slow
def test_fault_31_flipped_byte_in_the_log(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    make_topic: MakeTopic,
    read: Read,
    write: Write,
) -> None:
    """A broker sends its log without a check; the reader must find the error and its offset."""
    topic = make_topic()
    rows = spark.range(100).selectExpr("repeat(cast(id as string), 20) value").coalesce(1)
    for _ in range(3):
        write(rows, topic=topic)
    (log,) = (kafka_cluster.log_dir(1) / f"{topic}-0").glob("*.log")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0x40
    log.write_bytes(data)
    for _ in range(2):  # every read fails, not only the first one
        with pytest.raises(PySparkException) as caught:
            read(subscribe=topic).select("value").write.format("noop").mode("overwrite").save()
        line = first_line(caught.value)
        assert f"Corrupt record batch of {topic}-0 at offset 100: the CRC-32C is" in line
    intact = read(subscribe=topic, endingOffsets=json.dumps({topic: {"0": 100}}))
    assert intact.count() == 100
