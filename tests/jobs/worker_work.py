"""What tasks do with records, without Spark and brokers: python -m tests.jobs.worker_work.

Prints a JSON object: for each kind of work, whether pandas was imported by then. It must not
convert by pyarrow itself: whoever runs it looks for what the packages do.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kafka_formats.avro.decoder import AvroDecoderFactory
from kafka_formats.avro.encoder import AvroEncoder
from kafka_formats.json.decoder import JsonDecoderFactory
from kafka_formats.json.encode import encode
from kafka_formats.options.settings import Framing, Mode
from kafka_formats.payload.column_encoder import ColumnEncoder, encode_column
from kafka_formats.payload.columns import ColumnFormat
from kafka_formats.payload.format import DecoderFactory
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.decoder import factory_for
from kafka_formats.query.decoder import Decoder
from kafka_protocol.columnar.arrays.arrow_memory import array_of, array_of_bytes
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE
from kafka_protocol.columnar.reading.decode import decode_batches
from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.columnar.writing.partitioning import TaskPartitioner
from kafka_protocol.columnar.writing.routing import Destination, route
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.options.partitioners import PARTITIONERS
from kafka_protocol.records.batch import read_batches
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import OffsetRange, TopicPartition

ROWS = 100
SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "who", "type": ["null", "string"]},
        {"name": "paid", "type": "boolean"},
        {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}},
        {"name": "items", "type": {"type": "array", "items": "int"}},
    ],
}
TYPE = pa.struct(
    [
        ("id", pa.int64()),
        ("who", pa.string()),
        ("paid", pa.bool_()),
        ("color", pa.string()),
        ("items", pa.list_(pa.int32())),
    ]
)
TEXT = SchemaText(json.dumps(SCHEMA))
PROTO = """
syntax = "proto3";
enum Color { RED = 0; BLUE = 1; }
message Order {
  int64 id = 1; string who = 2; bool paid = 3; Color color = 4; repeated int32 items = 5;
}
"""
WINDOW = OffsetRange(TopicPartition("orders", 0), 0, ROWS)


def some(number: int, value: bytes) -> bytes | None:
    """Null for each third row."""
    return value if number % 3 else None


def records(values: pa.Array) -> RecordColumns:
    keys = array_of_bytes([some(number, b"key %d" % number) for number in range(ROWS)])
    counts = np.arange(ROWS + 1) // 2
    names = array_of_bytes([b"name"] * int(counts[-1]), pa.string())
    entries = [names, array_of_bytes([some(number, b"h") for number in range(len(names))])]
    pairs = pa.StructArray.from_arrays(entries, fields=[*HEADERS_TYPE.value_type])
    headers = pa.ListArray.from_arrays(array_of(counts, pa.int32()), pairs, type=HEADERS_TYPE)
    return RecordColumns(keys, values, np.arange(ROWS, dtype=np.int64), headers)


def read(values: pa.Array) -> pa.RecordBatch:
    """Encode the records and decode them again."""
    for codec in (CompressionCodec.NONE, CompressionCodec.ZSTD):
        data = b"".join(bytes(each.data) for each in encode_batches(records(values), codec))
        (batch,) = decode_batches([(WINDOW, [*read_batches(memoryview(data))])])
    assert batch.num_rows == ROWS
    return batch


def raw() -> None:
    large = array_of_bytes([bytes(1_000)] * ROWS)
    read(large)
    read(array_of_bytes([some(number, b"value") for number in range(ROWS)]))


def written() -> None:
    """Route rows by each partitioner, without and with columns beside the value."""
    names = ["key", "value", "topic", "partition", "timestamp", "headers"]
    table = pa.Table.from_batches([read(array_of_bytes([b"value"] * ROWS)).select(names)])
    few = SinkColumns(value=1, key=None, topic=None, partition=None, headers=None, timestamp=None)
    some_columns = replace(few, key=0, timestamp=4, headers=5)
    for columns in (few, some_columns, replace(some_columns, topic=2, partition=3)):
        for partitioner in PARTITIONERS.values():
            topic = "orders" if columns.topic is None else None
            task = TaskPartitioner(partitioner, 1_000, 0)
            route(table, Destination(columns, topic, lambda _topic: 4, task), 0)


def rows_of(payloads: pa.Array, decoders: DecoderFactory) -> pa.RecordBatch:
    formats = {"value": ColumnFormat(Framing.NONE, TYPE, decoders)}
    schema = pa.schema({"value": TYPE, "offset": pa.int64()})
    decoder = Decoder(schema, formats, Mode.PERMISSIVE)
    (batch,) = decoder.rows([read(payloads)])
    return batch


def avro() -> None:
    payload = b"\x02\x02\x06ann\x01\x02\x04\x02\x04\x00"
    payloads = array_of_bytes([some(number, payload) for number in range(ROWS)])
    values = rows_of(payloads, AvroDecoderFactory(TEXT, TYPE, None)).column("value")
    written_again = encode_column(values, ColumnEncoder(b"", AvroEncoder(TEXT)), "value")
    assert written_again.drop_null().to_pylist() == [payload] * (ROWS - 34)


def json_text() -> None:
    document = b'{"id": 1, "who": "ann", "paid": true, "color": "BLUE", "items": [1, 2]}'
    encode(rows_of(array_of_bytes([document] * ROWS), JsonDecoderFactory(TYPE)).column("value"))


def protobuf() -> None:
    decoders = factory_for(SchemaText(PROTO), TYPE, None)
    payload = b"\x08\x01\x12\x03ann\x18\x01\x20\x01\x2a\x02\x01\x02"
    assert rows_of(array_of_bytes([payload] * ROWS), decoders).column("value").null_count == 0


WORK: dict[str, Callable[[], None]] = {
    "read": raw,
    "write": written,
    "Avro": avro,
    "JSON": json_text,
    "Protobuf": protobuf,
}


def done() -> Iterator[tuple[str, bool]]:
    for name, work in WORK.items():
        work()
        yield name, "pandas" in sys.modules


if __name__ == "__main__":
    print(json.dumps(dict(done())))
