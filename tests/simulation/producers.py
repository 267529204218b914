"""Other clients of the simulated brokers: processes that write the records of a scenario.

They are the product's own producer: what it wrote and what it was told is compared with the logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import types as T

from kafka_protocol.arrow_io.row_writer import RowWriter
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import shared_cluster, shared_producer
from kafka_protocol.client.producer.end_transactions import end
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transactions import begin
from kafka_protocol.errors import KafkaError
from kafka_protocol.options.partitioners import PARTITIONERS
from kafka_protocol.records.batch import BatchContents, build_batch
from kafka_protocol.records.compression import Compression, CompressionCodec, compress
from kafka_protocol.records.message import Message, encode_messages, wrap_messages
from kafka_protocol.records.record import Record, encode_records
from kafka_spark_source.schema import check_sink_schema
from tests.simulation.contents import Values
from tests.simulation.processes import Processes
from tests.simulation.scenario import Part, Send
from tests.simulation.scheduler import EventScheduler
from tests.simulation.trace import Trace

SLOW: Final = "slow"
"""The style of a transaction that is open for a while."""

_PAUSE_MS: Final = 60.0
_SCHEMA: Final = T.StructType(
    [
        T.StructField("key", T.BinaryType()),
        T.StructField("value", T.BinaryType()),
        T.StructField("topic", T.StringType()),
        T.StructField("partition", T.IntegerType()),
    ]
)
_HEADER: Final = T.StructType(
    [T.StructField("key", T.StringType()), T.StructField("value", T.BinaryType())]
)
_WITH_HEADERS: Final = T.StructType([*_SCHEMA, T.StructField("headers", T.ArrayType(_HEADER))])
_HEADERS_TYPE: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def headers_of(number: int) -> list[dict[str, str | bytes | None]] | None:
    """The headers of a record: none, one, or several, also with the same key, empty or null."""
    if number % 3 == 0:
        return None
    one: dict[str, str | bytes | None] = {"key": "number", "value": b"%d" % number}
    return (
        [one]
        if number % 3 == 1
        else [one, {"key": "number", "value": None}, {"key": "", "value": b""}]
    )


def batch_of(
    style: str, values: Sequence[tuple[bytes | None, bytes | None]], timestamp: int
) -> bytes:
    """A batch as another client writes it, for example in the style "1 gzip"."""
    magic, codec = int(style[0]), CompressionCodec[style[2:].upper()]
    count = len(values)
    if magic == 2:
        records = [Record(i, timestamp + i, key, value) for i, (key, value) in enumerate(values)]
        payload = bytes(compress(codec, encode_records(records, 0, timestamp)))
        return build_batch(BatchContents(payload, codec, count, timestamp, timestamp + count - 1))
    stamps = [timestamp + i if magic else -1 for i in range(count)]
    messages = encode_messages(
        [Message(i, stamps[i], key, value) for i, (key, value) in enumerate(values)], magic
    )
    if codec is CompressionCodec.NONE:
        return messages
    return wrap_messages(messages, Compression(codec, None), magic, count - 1, stamps[-1])


def appended(send: Send, contents: Values, timestamp: int) -> Iterator[tuple[Part, bytes]]:
    """The batches of a send of another client."""
    for part in send.parts:
        numbers = range(part.first, part.first + part.length)
        places = [(part.topic, part.partition, number) for number in numbers]
        values = [(contents.key(*place), contents.of(*place)) for place in places]
        yield part, batch_of(send.style, values, timestamp)


class SendingProducer:
    """One producer, from its first send to its last.

    Args:
        has_headers: Whether records have headers.
        note: Called with each send and its error; None if all of it was acknowledged.
    """

    def __init__(
        self,
        name: str,
        sends: Sequence[Send],
        options: dict[str, str],
        values: Values,
        has_headers: bool,
        note: Callable[[Send, KafkaError | None], None],
    ) -> None:
        self.name = name
        self._sends = sends
        self._config = ClientConfig.from_options(options)
        self._values = values
        self._has_headers = has_headers
        self._note = note
        schema = _WITH_HEADERS if has_headers else _SCHEMA
        self._rows = RowWriter(
            check_sink_schema(schema, None, ()), None, PARTITIONERS["default"], self._config
        )

    def run(self, scheduler: EventScheduler, processes: Processes, trace: Trace) -> None:
        """Send everything; a send that fails is not repeated."""
        for send in self._sends:
            processes.sleep(send.at_ms - scheduler.elapsed_ms)
            try:
                self._send(send, processes)
            except KafkaError as error:
                trace.note(self.name, "send failed", type(error).__name__)
                self._note(send, error)
            else:
                self._note(send, None)

    def _send(self, send: Send, processes: Processes) -> None:
        if send.kind == "plain":
            with shared_producer(self._config) as producer:
                self._rows.add([self._batch(send.parts)], producer)
            return
        cluster = shared_cluster(self._config)
        deadline = Deadline.after(self._config.max_block_ms)
        transaction = begin(cluster, f"{self.name}-transactions", deadline)
        producer = Producer(cluster, transaction)
        try:
            for parts in [send.parts] if send.style != SLOW else [(each,) for each in send.parts]:
                self._rows.add([self._batch(parts)], producer)
                producer.flush()
                if send.style == SLOW:
                    processes.sleep(_PAUSE_MS)
        except BaseException:
            producer.abandon()
            raise
        deadline = Deadline.after(self._config.delivery_timeout_ms)
        end(cluster, transaction, deadline, committed=send.kind == "commit")

    def _batch(self, parts: Sequence[Part]) -> pa.RecordBatch:
        places = [
            (part.topic, part.partition, number)
            for part in parts
            for number in range(part.first, part.first + part.length)
        ]
        columns = {
            "key": pa.array([self._values.key(*place) for place in places], pa.binary()),
            "value": pa.array([self._values.of(*place) for place in places], pa.binary()),
            "topic": pa.array([topic for topic, *_ in places], pa.string()),
            "partition": pa.array([partition for _, partition, _ in places], pa.int32()),
        }
        if self._has_headers:
            columns["headers"] = pa.array([headers_of(n) for *_, n in places], _HEADERS_TYPE)
        return pa.record_batch(columns)
