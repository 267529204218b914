"""read_topic with formats: decoded Arrow without Spark, from a real broker and a real registry."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kafka_formats.errors import MalformedRecordError
from kafka_formats.topic import read_topic
from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from tests.formats.protobuf.messages import descriptor_set
from tests.integration.conftest import MakeTopic
from tests.witness import IN_ORDER, produce

pytestmark = pytest.mark.integration

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "who", "type": ["null", "string"], "default": None},
        ],
    }
)
ROWS: list[dict[str, Any]] = [{"id": i, "who": None if i % 3 else f"who {i}"} for i in range(100)]


@pytest.fixture
def kafka(kafka_cluster: KafkaCluster) -> dict[str, str]:
    return {"bootstrap.servers": kafka_cluster.bootstrap_servers}


@pytest.fixture
def avro(schema_registry: SchemaRegistry) -> dict[str, str]:
    return {"value.format": "avro", "schema.registry.url": schema_registry.url}


@pytest.fixture
def orders(
    kafka_cluster: KafkaCluster, registered: SchemaRegistryClient, make_topic: MakeTopic
) -> str:
    """A topic of orders, as Confluent's serializer writes them."""
    topic = make_topic()
    serialize = AvroSerializer(registered, ORDER)
    context = SerializationContext(topic, MessageField.VALUE)
    payloads = [serialize(row, context) for row in ROWS]
    produce(kafka_cluster.bootstrap_servers, topic, payloads)
    return topic


def test_values_of_a_registry(orders: str, kafka: dict[str, str], avro: dict[str, str]) -> None:
    table = read_topic(orders, kafka, avro).read_all()
    assert table.schema.names == [
        *("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
    ]
    assert table["value"].to_pylist() == ROWS
    assert table.schema.field("value").type == pa.struct(
        [pa.field("id", pa.int64(), nullable=False), pa.field("who", pa.string())]
    )
    part = {"value": pa.struct({"who": pa.string()})}
    steps: list[tuple[int, int]] = []
    found = read_topic(
        orders,
        kafka,
        avro,
        columns=["offset", "value"],
        types=part,
        start={0: 3},
        end={0: 5},
        progress=lambda done, total: steps.append((done, total)),
    )
    assert found.read_all().to_pylist() == [
        {"offset": 3, "value": {"who": "who 3"}},
        {"offset": 4, "value": {"who": None}},
    ]
    assert steps[-1] == (2, 2)


def test_keys_and_values_without_a_registry(
    kafka_cluster: KafkaCluster, kafka: dict[str, str], make_topic: MakeTopic, tmp_path: Any
) -> None:
    topic = make_topic()
    produce(kafka_cluster.bootstrap_servers, topic, [b"\x08\x05", b"", None])
    files = {"a.proto": 'syntax = "proto3"; package p; message A { int64 id = 1; }'}
    formats = {
        "value.format": "protobuf",
        "value.protobuf.descriptor": str(descriptor_set(tmp_path, files, "a.proto")),
        "value.protobuf.message": "p.A",
    }
    found = read_topic(topic, kafka, formats, columns=["value"]).read_all()
    assert found["value"].to_pylist() == [{"id": 5}, {"id": 0}, None]
    other = make_topic()
    produce(kafka_cluster.bootstrap_servers, other, [b'{"id": 1, "x": 2}', b'{"id": 2}'])
    wanted = {"value": pa.struct({"id": pa.int64()})}
    found = read_topic(other, kafka, {"value.format": "json"}, columns=["value"], types=wanted)
    assert found.read_all()["value"].to_pylist() == [{"id": 1}, {"id": 2}]


NOT_UTF8 = b"a\xff"


@pytest.fixture
def texts(kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> str:
    """A topic of texts, one of which is not UTF-8, with headers."""
    topic = make_topic()
    headers: list[tuple[str, str | bytes | None]] = [("a", b"1"), ("b", None), ("a", b"2")]
    producer = Producer({"bootstrap.servers": kafka_cluster.bootstrap_servers, **IN_ORDER})
    producer.produce(topic, b"plain", b"k", 0, headers=headers)
    producer.produce(topic, "ä€".encode(), None, 0)
    producer.produce(topic, NOT_UTF8, b"\xfe", 0)
    producer.produce(topic, None, None, 0)
    producer.flush()
    return topic


@pytest.mark.parametrize("value", [pa.string(), pa.binary()], ids=str)
def test_raw_columns_in_other_types(texts: str, kafka: dict[str, str], value: pa.DataType) -> None:
    types = {"value": pa.string(), "headers": pa.map_(pa.string(), value)}
    found = read_topic(texts, kafka, {}, columns=["key", "value", "headers"], types=types)
    table = found.read_all()
    assert [*table.schema] == [
        pa.field("key", pa.binary()),
        *(pa.field(*each) for each in types.items()),
    ]
    # Without a mode, text has the bytes that were written.
    shown = table["value"].combine_chunks().view(pa.binary())
    assert shown.to_pylist() == [b"plain", "ä€".encode(), NOT_UTF8, None]
    last = b"2" if value == pa.binary() else "2"
    by_name = [None if each is None else dict(each) for each in table["headers"].to_pylist()]
    assert by_name == [{"a": last, "b": None}, None, None, None]


def test_text_is_checked_where_a_mode_is_given(texts: str, kafka: dict[str, str]) -> None:
    types = {"key": pa.string(), "value": pa.string()}
    with pytest.raises(MalformedRecordError, match=f"{texts}-0 at offset 2: the key: it is not"):
        read_topic(texts, kafka, {"mode": "FAILFAST"}, types=types).read_all()
    names = ["offset", "key", "value", "_error", "_raw", "_raw_key"]
    permissive = {"mode": "PERMISSIVE"}
    rows = read_topic(texts, kafka, permissive, columns=names, types=types).read_all().to_pylist()
    assert [row["value"] for row in rows] == ["plain", "ä€", None, None]
    assert [row["offset"] for row in rows if row["_error"]] == [2]
    assert (rows[2]["_raw"], rows[2]["_raw_key"]) == (NOT_UTF8, b"\xfe")
    assert "the value: it is not UTF-8" in rows[2]["_error"]
    # A column that is not read is not checked.
    left = read_topic(texts, kafka, {"mode": "DROPMALFORMED"}, columns=["offset"], types=types)
    assert left.read_all()["offset"].to_pylist() == [0, 1, 2, 3]
    kept = read_topic(texts, kafka, {"mode": "DROPMALFORMED"}, columns=["value"], types=types)
    assert kept.read_all()["value"].to_pylist() == ["plain", "ä€", None]


def test_text_beside_a_format_and_of_the_newest_of_each_key(
    kafka_cluster: KafkaCluster, kafka: dict[str, str], make_topic: MakeTopic
) -> None:
    topic = make_topic()
    producer = Producer({"bootstrap.servers": kafka_cluster.bootstrap_servers, **IN_ORDER})
    for number, key in enumerate(["a", "b", "a"]):
        producer.produce(topic, f'{{"id": {number}}}', key, 0)
    producer.flush()
    formats = {"value.format": "json", "value.schema": "id bigint", "envelope": "upsert"}
    found = read_topic(topic, kafka, formats, columns=["key", "value"], types={"key": pa.string()})
    rows = sorted(found.read_all().to_pylist(), key=lambda row: str(row["key"]))
    assert rows == [{"key": "a", "value": {"id": 2}}, {"key": "b", "value": {"id": 1}}]


def test_an_abandoned_read_closes_its_connections(
    orders: str,
    kafka: dict[str, str],
    avro: dict[str, str],
    closed: list[str],
    kafka_cluster: KafkaCluster,
) -> None:
    # It is not fetched yet when the first rows have been read.
    produce(kafka_cluster.bootstrap_servers, orders, [b"broken"])
    reader = read_topic(orders, kafka | {"max.partition.fetch.bytes": "500"}, avro)
    first = reader.read_next_batch()["value"].to_pylist()
    assert first == ROWS[: len(first)]
    assert not closed
    del reader
    gc.collect()
    assert closed


READ = """
import sys
from kafka_formats.topic import read_topic

servers, url, topic = sys.argv[1:]
formats = {"value.format": "avro", "schema.registry.url": url}
table = read_topic(topic, {"bootstrap.servers": servers}, formats, columns=["value"]).read_all()
print(table["value"][99].as_py()["who"])
assert not {"pyspark", "kafka_spark_source"} & {name.partition(".")[0] for name in sys.modules}
"""


def test_no_spark_is_imported(
    orders: str, kafka_cluster: KafkaCluster, schema_registry: SchemaRegistry
) -> None:
    command = [sys.executable, "-c", READ, kafka_cluster.bootstrap_servers, schema_registry.url]
    done = subprocess.run(
        [*command, orders], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("who 99", 0), done.stderr
