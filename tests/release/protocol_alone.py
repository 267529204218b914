"""The protocol half and the formats in a venv without PySpark, on a real broker.

python -I protocol_alone.py localhost:9092
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from importlib.util import find_spec

import pyarrow as pa

import kafka_formats
import kafka_protocol
from kafka_formats.json.ddl import parse_ddl
from kafka_formats.json.decoder import decoder_for
from kafka_formats.json.encode import encode
from kafka_protocol.arrow_io.topic import read_topic
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition

TOPIC = "alone"
TYPE = parse_ddl("id int, name string")
ROWS = [{"id": number, "name": f"name {number}"} for number in range(1_000)]
# Packages of extras, which this venv lacks.
EXTRAS = {"botocore", "google", "grpc_tools", "gssapi"}


def import_everything() -> int:
    """Import each module of both packages, and return how many there are."""
    count = 0
    for package in (kafka_protocol, kafka_formats):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                assert str(error.name).partition(".")[0] in EXTRAS, error
            count += 1
    return count


def write(options: dict[str, str], values: pa.Array) -> None:
    cluster = Cluster(ClientConfig.from_options(options))
    create_topic(cluster, NewTopic(TOPIC, 1), Deadline.after(30_000))
    producer = Producer(cluster)
    times = pa.array([1_760_000_000_000] * len(values)).to_numpy()
    records = RecordColumns(pa.nulls(len(values), pa.binary()), values, times, None)
    for batch in encode_batches(records, CompressionCodec.LZ4, 10_000):
        producer.add(TopicPartition(TOPIC, 0), batch.data)
    producer.flush()
    cluster.close()


def main(servers: str) -> None:
    assert find_spec("pyspark") is None, "this venv has PySpark"
    count = import_everything()
    options = {"bootstrap.servers": servers}
    write(options, encode(pa.array(ROWS, TYPE)))
    payloads = read_topic(TOPIC, options, columns=["value"]).read_all()["value"].combine_chunks()
    decoded = decoder_for(TYPE).decode(payloads, 0).values
    assert decoded.to_pylist() == ROWS
    print(f"{count} modules imported; {len(decoded)} records written, read and decoded")


if __name__ == "__main__":
    main(sys.argv[1])
