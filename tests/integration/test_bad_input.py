"""What users get wrong: one clear sentence, as the first line, within 15 seconds, never a hang."""

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

from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic

pytestmark = [pytest.mark.integration, pytest.mark.spark]

LIMIT_SECONDS = 45


def first_line(error: PySparkException) -> str:
    """What a user sees first, behind Spark's own words."""
    lines = str(error).strip().splitlines()
    is_task = lines[0].startswith("An exception was thrown from the Python worker")
    return lines[1] if is_task else lines[0]


Refuses = Callable[..., str]


@pytest.fixture
def read_refuses(spark: SparkSession, kafka_cluster: KafkaCluster) -> Refuses:
    """Reads with options, and returns the first line of the error that must come, in time."""
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
    """A port that accepts and never says a word."""
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


def test_fault_01_no_broker_at_the_address(read_refuses: Refuses) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    nowhere = f"no-such-host.invalid:9092,127.0.0.1:{port}"
    line = read_refuses(subscribe="t", kafka__bootstrap__servers=nowhere)
    assert "No broker of kafka.bootstrap.servers can be reached" in line
    assert "no-such-host.invalid:9092: the host name cannot be resolved" in line
    assert f"127.0.0.1:{port}: connection refused" in line


def test_fault_01_one_good_address_is_enough(
    spark: SparkSession, kafka_cluster: KafkaCluster, make_topic: MakeTopic
) -> None:
    servers = f"no-such-host.invalid:9092,{kafka_cluster.bootstrap_servers}"
    reader = spark.read.format("pykafka").option("kafka.bootstrap.servers", servers)
    assert reader.option("subscribe", make_topic()).load().count() == 0


def test_fault_02_unreachable_advertised_listener(spark: SparkSession) -> None:
    with KafkaCluster(config={"advertised.listeners": "PLAINTEXT://127.0.0.1:1"}) as kafka:
        servers = kafka.bootstrap_servers
        create_through_the_back_door(kafka, "t")
        reader = spark.read.format("pykafka").option("kafka.bootstrap.servers", servers)
        df = reader.option("subscribe", "t").load()
        started = time.monotonic()
        with pytest.raises(PySparkException) as caught:
            df.collect()
        assert time.monotonic() - started < LIMIT_SECONDS
    line = first_line(caught.value)
    assert (
        f"kafka.bootstrap.servers {servers} answered, but broker 1 advertises 127.0.0.1:1" in line
    )
    assert "cannot be reached from here: 127.0.0.1:1: connection refused" in line
    assert "advertised.listeners" in line


def create_through_the_back_door(kafka: KafkaCluster, topic: str) -> None:
    """No client can reach the broker where it says that it listens; the bootstrap address works."""
    from kafka_protocol.client.broker.broker import Broker  # noqa: PLC0415
    from kafka_protocol.client.clock import Deadline  # noqa: PLC0415
    from kafka_protocol.client.config.client import ClientConfig  # noqa: PLC0415
    from kafka_protocol.messages.create_topics import (  # noqa: PLC0415
        CreateTopicsRequest,
        CreateTopicsResponse,
    )

    config = ClientConfig.from_options({"bootstrap.servers": kafka.bootstrap_servers})
    soon = Deadline.after(30_000)
    broker = Broker(config.bootstrap_servers[0], None, config, soon)
    new = CreateTopicsRequest.CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
    answer = broker.request(CreateTopicsRequest(topics=[new]), CreateTopicsResponse, soon)
    broker.close()
    assert answer.topics[0].error_code == 0


def test_fault_03_a_port_that_says_nothing(read_refuses: Refuses) -> None:
    with black_hole() as port:
        line = read_refuses(subscribe="t", kafka__bootstrap__servers=f"127.0.0.1:{port}")
    assert f"bootstrap server (127.0.0.1:{port}): no answer within" in line


def test_fault_03_a_port_that_speaks_tls(
    kafka_cluster_factory: Callable[..., KafkaCluster], read_refuses: Refuses
) -> None:
    kafka = kafka_cluster_factory(security="SSL")
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
        ({"subscribe": "t", "kafka__bootstrap__servers": "localhost"}, "is no host:port"),
        ({"subscribe": "t", "minPartitions": "0"}, "minPartitions must be positive, got '0'"),
    ],
)
def test_options(read_refuses: Refuses, options: dict[str, str], words: str) -> None:
    assert words in read_refuses(**options)


def test_writing_to_a_missing_topic(spark: SparkSession, kafka_cluster: KafkaCluster) -> None:
    rows = spark.createDataFrame([("v",)], "value string")
    writer = rows.write.format("pykafka").mode("append").option("topic", "no-such-topic")
    started = time.monotonic()
    with pytest.raises(PySparkException) as caught:
        writer.option("kafka.bootstrap.servers", kafka_cluster.bootstrap_servers).save()
    assert time.monotonic() - started < LIMIT_SECONDS
    assert "Cannot write to topic 'no-such-topic'" in first_line(caught.value)


def test_fault_44_record_too_large_names_topic_partition_and_the_broker_s_words(
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


def test_fault_31_flipped_byte_in_the_log(spark: SparkSession) -> None:
    """The broker sends its copy unread; the reader must notice, and say where."""
    with KafkaCluster() as kafka:
        servers = {"kafka.bootstrap.servers": kafka.bootstrap_servers}
        create_through_the_back_door(kafka, "flipped")
        rows = spark.range(1_000).selectExpr("repeat(cast(id as string), 20) value").coalesce(1)
        for _ in range(3):
            rows.write.format("pykafka").options(**servers, topic="flipped").mode("append").save()
        (log,) = (kafka.log_dir(1) / "flipped-0").glob("*.log")
        data = bytearray(log.read_bytes())
        data[len(data) // 2] ^= 0x40
        log.write_bytes(data)
        df = spark.read.format("pykafka").options(**servers, subscribe="flipped").load()
        for _ in range(2):  # every time, not only the first
            with pytest.raises(PySparkException) as caught:
                df.select("value").write.format("noop").mode("overwrite").save()
            line = first_line(caught.value)
            assert "Corrupt record batch of flipped-0 at offset 1000: the CRC-32C is" in line
        # What is not damaged can be read.
        whole = '{"flipped":{"0":1000}}'
        reader = spark.read.format("pykafka").options(**servers, subscribe="flipped")
        assert reader.option("endingOffsets", whole).load().count() == 1_000
