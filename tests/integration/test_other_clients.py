"""Each codec in both directions, with confluent-kafka (librdkafka) and kafka-python."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeAlias

import kafka
import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Producer as Librdkafka

from kafka_protocol.arrow_io.row_writer import RowWriter
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.client.pool import shared_producer
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE
from kafka_protocol.columnar.reading.decode import decode_batches
from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.options.partitioners import DEFAULT
from kafka_protocol.records.batch import BatchHeader
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.integration.clients import SOON_MS
from tests.integration.conftest import Consume, MakeTopic

pytestmark = pytest.mark.integration

# Key, value, headers, timestamp in ms.
Headers: TypeAlias = list[tuple[str, str | bytes | None]]
Row: TypeAlias = tuple[bytes | None, bytes | None, Headers, int]

NOW = 1_760_000_000_000
CODECS = [codec.name.lower() for codec in CompressionCodec]


def messy_rows(seed: int) -> list[Row]:
    rng = random.Random(seed)
    rows: list[Row] = [
        (None, None, [], NOW),
        (b"", b"", [("", b""), ("same", b"1"), ("same", None)], NOW + 1),
        ("schlüssel".encode(), "日本".encode() * 5_000, [("é", b"\xff\x00")], NOW - 10_000),
        (b"k", rng.randbytes(300_000), [], NOW + 2),
    ]
    rows += [
        (b"key %d" % (number % 50), rng.randbytes(rng.randrange(200)), [], NOW + number)
        for number in range(2_000)
    ]
    return rows


def written_by_librdkafka(servers: str, topic: str, codec: str, rows: list[Row]) -> None:
    producer = Librdkafka(
        {"bootstrap.servers": servers, "compression.type": codec, "linger.ms": 50}
    )
    for key, value, headers, timestamp in rows:
        producer.produce(topic, value, key, 0, timestamp=timestamp, headers=headers)
        producer.poll(0)
    assert producer.flush(30) == 0


def written_by_kafka_python(servers: str, topic: str, codec: str, rows: list[Row]) -> None:
    producer = kafka.KafkaProducer(
        bootstrap_servers=servers, compression_type=None if codec == "none" else codec, linger_ms=50
    )
    for key, value, headers, timestamp in rows:
        producer.send(topic, value, key, headers, 0, timestamp)
    producer.flush(30)
    producer.close()


def for_kafka_python(rows: list[Row]) -> list[Row]:
    """The rows that its producer takes: headers with a value, records with a key or a value."""
    return [
        (key, value, [(name, header or b"") for name, header in headers], timestamp)
        for key, value, headers, timestamp in rows
        if key is not None or value is not None
    ]


WRITERS: dict[str, Callable[[str, str, str, list[Row]], None]] = {
    "confluent-kafka": written_by_librdkafka,
    "kafka-python": written_by_kafka_python,
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("client", WRITERS)
def test_reads_what_they_write(
    kafka_cluster: KafkaCluster, cluster: Cluster, make_topic: MakeTopic, client: str, codec: str
) -> None:
    rows = messy_rows(seed=1)
    if client == "kafka-python":
        rows = for_kafka_python(rows)
    topic = make_topic()
    WRITERS[client](kafka_cluster.bootstrap_servers, topic, codec, rows)

    partition = TopicPartition(topic, 0)
    wanted = OffsetRange(partition, 0, len(rows))
    codecs, read = set(), []
    for window, batches in fetch_range(cluster, wanted, SOON_MS):
        codecs |= {batch.header.codec for batch in batches}
        for arrow in decode_batches([(window, batches)]):
            read += [*map(as_row, arrow.to_pylist())]
    assert read == rows
    # A client may send a batch uncompressed that compression would make larger.
    assert CompressionCodec[codec.upper()] in codecs


def as_row(record: dict[str, Any]) -> Row:
    headers = [(header["key"], header["value"]) for header in record["headers"] or ()]
    timestamp = pa.scalar(record["timestamp"], pa.timestamp("us", "UTC")).value // 1000
    return record["key"], record["value"], headers, timestamp


def write(cluster: Cluster, topic: str, codec: str, rows: list[Row]) -> None:
    keys, values, headers, timestamps = zip(*rows, strict=True)
    records = RecordColumns(
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        np.array(timestamps, dtype=np.int64),
        pa.array([[{"key": k, "value": v} for k, v in h] for h in headers], HEADERS_TYPE),
    )
    producer = Producer(cluster)
    for batch in encode_batches(records, CompressionCodec[codec.upper()], 100_000):
        producer.add(TopicPartition(topic, 0), batch.data)
    producer.flush()


@pytest.mark.parametrize("codec", CODECS)
def test_librdkafka_reads_what_we_write(
    cluster: Cluster, make_topic: MakeTopic, consume: Consume, codec: str
) -> None:
    rows, topic = messy_rows(seed=2), make_topic()
    write(cluster, topic, codec, rows)
    messages = consume(topic, 0, len(rows))
    assert [(m.key(), m.value(), m.headers() or [], m.timestamp()[1]) for m in messages] == rows
    assert [message.offset() for message in messages] == [*range(len(rows))]


@pytest.mark.parametrize("codec", CODECS)
def test_kafka_python_reads_what_we_write(
    kafka_cluster: KafkaCluster, cluster: Cluster, make_topic: MakeTopic, codec: str
) -> None:
    rows, topic = messy_rows(seed=3), make_topic()
    write(cluster, topic, codec, rows)
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=kafka_cluster.bootstrap_servers,
        consumer_timeout_ms=SOON_MS,
        enable_auto_commit=False,
        check_crcs=True,
    )
    with closing(consumer):
        consumer.assign([kafka.TopicPartition(topic, 0)])
        consumer.seek_to_beginning()
        read = [next(consumer) for _ in rows]
    assert [(r.key, r.value, [*r.headers], r.timestamp) for r in read] == rows


LARGE_BYTES = 2_000_000


@pytest.mark.parametrize("codec", CODECS[1:])
def test_batches_that_are_large_before_compression(
    kafka_cluster: KafkaCluster,
    cluster: Cluster,
    make_topic: MakeTopic,
    consume: Consume,
    codec: str,
) -> None:
    """A writer makes batches of the wanted size after compression."""
    topic = make_topic()
    servers = {"bootstrap.servers": kafka_cluster.bootstrap_servers}
    config = ClientConfig.from_options(servers | {"compression.type": codec})
    only_value = SinkColumns(0, None, None, None, None, None)
    values = [b"%d" % number + b"x" * 1_000 for number in range(30_000)]
    batches = [
        pa.record_batch([pa.array(values[first : first + 5_000])], ["value"])
        for first in range(0, len(values), 5_000)
    ]
    with shared_producer(config) as producer:
        RowWriter(only_value, topic, DEFAULT, config).add(batches, producer)

    assert [message.value() for message in consume(topic, 0, len(values))] == values
    wanted = OffsetRange(TopicPartition(topic, 0), 0, len(values))
    sizes, read = [], []
    for window, fetched in fetch_range(cluster, wanted, SOON_MS):
        headers = [batch.header for batch in fetched]
        sizes += [1_000 * each.records_count for each in headers if isinstance(each, BatchHeader)]
        for arrow in decode_batches([(window, fetched)]):
            read += arrow.column("value").to_pylist()
    assert read == values
    assert max(sizes) > LARGE_BYTES
