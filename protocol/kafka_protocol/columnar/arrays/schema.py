"""The Arrow columns of a record: names, order and types of Spark's own Kafka connector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

HEADERS_TYPE: Final = pa.list_(
    pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
)

# timestampType: -1 without a timestamp, 0 for CREATE_TIME, 1 for LOG_APPEND_TIME.
RECORD_SCHEMA: Final = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("us", tz="UTC")),
        pa.field("timestampType", pa.int32()),
        pa.field("headers", HEADERS_TYPE),
    ]
)
# The timestamp as the record has it, in ms: for tools, which show any number of 64 bits.
TIMESTAMP_MS: Final = pa.field("timestampMs", pa.int64())
# The id of the record's topic as Kafka's tools write it; null below Kafka 2.8. Batches lack it.
TOPIC_ID: Final = pa.field("topicId", pa.string())

_FIELDS: Final = {field.name: field for field in (*RECORD_SCHEMA, TIMESTAMP_MS)}


def record_schema(columns: Sequence[str]) -> pa.Schema:
    """The schema of these columns, in the given order.

    Raises:
        KeyError: A name is neither in `RECORD_SCHEMA` nor that of `TIMESTAMP_MS`.
    """
    return pa.schema([_FIELDS[name] for name in columns])
