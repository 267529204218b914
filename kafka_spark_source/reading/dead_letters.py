"""Records that a read cannot decode, written to a topic unchanged, with the reason in headers.

Decides nothing: `kafka_formats` finds them, and a task writes them before it gives out the rows
beside them. So a task that ends has lost none, and one that Spark runs again writes them again.

They have the time at which they are written: with the time of an old record, the topic's retention
would delete them at once.

Source: the headers are as from `DeadLetterQueueReporter` of Kafka Connect (KIP-298). It has none
for the time of the record, because it keeps that as the time of the dead letter.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kafka_protocol.client.config.client import REMEMBERED_BATCHES, ClientConfig
from kafka_protocol.client.pool import shared_producer
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.errors import KafkaError
from kafka_protocol.messages.produce import ACKS_ALL
from kafka_protocol.options.partitioners import DEFAULT

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_formats.query.decoder import BrokenRecord

_log = logging.getLogger(__name__)

# Connect has no names for them.
_SCHEMA_ID: Final = "__pykafka.errors.schema.id"
_TIMESTAMP: Final = "__pykafka.errors.timestamp"
HEADER_PREFIX: Final = "__connect.errors."
_STAGES: Final = {"key": "KEY_CONVERTER", "value": "VALUE_CONVERTER"}
_COLUMNS: Final = SinkColumns(value=0, key=1, topic=None, partition=None, headers=2, timestamp=None)


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The topic of the dead letters of a read, and how to write there."""

    topic: str
    config: ClientConfig

    def write(self, records: pa.RecordBatch, faults: Iterator[BrokenRecord]) -> None:
        """Write records, and return when brokers have acknowledged them.

        Args:
            records: The records, not decoded, with the columns that the decoder asks for.
            faults: The faults of each record.

        Raises:
            KafkaError: The topic cannot be written. Names it, and the first of the records.
        """
        # Most reads have none.
        from kafka_protocol.arrow_io.row_writer import RowWriter  # noqa: PLC0415

        broken = list(faults)
        rows = rows_of(records, broken)
        config = safest(self.config)
        writer = RowWriter(_COLUMNS, self.topic, DEFAULT, config)
        try:
            with shared_producer(config) as producer:
                writer.add([rows], producer)
        except KafkaError as error:
            raise KafkaError(
                f"{broken[0]}. The record is not left out, because the topic {self.topic!r} of the "
                f"option deadLetterTopic cannot be written: {error}"
            ) from error
        _log.warning(
            "Records that cannot be decoded, written to the topic %s: %d. The first: %s.",
            self.topic,
            len(broken),
            broken[0],
        )


def safest(config: ClientConfig) -> ClientConfig:
    """The client's options for dead letters, whatever the read says about writes.

    A record that leaves the rows must be in all in-sync replicas, once for each try of its task.
    """
    return replace(
        config,
        acks=ACKS_ALL,
        enable_idempotence=True,
        retries=config.retries or 2**31 - 1,
        max_in_flight=min(config.max_in_flight, REMEMBERED_BATCHES),
    )


def rows_of(records: pa.RecordBatch, broken: Sequence[BrokenRecord]) -> pa.RecordBatch:
    """The rows to write: unchanged payloads, and headers with the reasons and the times.

    Args:
        records: The records, not decoded.
        broken: The faults of each of them.

    Returns:
        The columns value, key and headers.
    """
    import pyarrow as pa  # noqa: PLC0415

    from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE, TIMESTAMP_MS  # noqa: PLC0415

    came = records.column("headers").to_pylist()
    times = records.column(TIMESTAMP_MS.name).to_pylist()
    headers = [
        [*(own or ()), *_reasons(each, time_ms)]
        for own, each, time_ms in zip(came, broken, times, strict=True)
    ]
    return pa.RecordBatch.from_arrays(
        [records.column("value"), records.column("key"), pa.array(headers, HEADERS_TYPE)],
        ["value", "key", "headers"],
    )


def _reasons(broken: BrokenRecord, time_ms: int) -> Iterator[dict[str, str | bytes]]:
    """The headers with the reason why a record is here, and with its time in ms since 1970."""
    column, fault = broken.faults[0]
    texts = {
        f"{HEADER_PREFIX}topic": broken.topic,
        f"{HEADER_PREFIX}partition": str(broken.partition),
        f"{HEADER_PREFIX}offset": str(broken.offset),
        f"{HEADER_PREFIX}stage": _STAGES[column],
        f"{HEADER_PREFIX}exception.class.name": f"{fault.kind.__module__}.{fault.kind.__name__}",
        f"{HEADER_PREFIX}exception.message": broken.reason,
    }
    if fault.schema_id is not None:
        texts[_SCHEMA_ID] = str(fault.schema_id)
    texts[_TIMESTAMP] = str(time_ms)
    for name, text in texts.items():
        yield {"key": name, "value": text.encode("utf-8", "backslashreplace")}
