"""The column `topicId`: distinguishes records of topics that had one name, one after the other.

A topic that is deleted and created again has another id, and its offsets begin at 0 again. Tasks
read the topic that was planned, by its id. Fetches and decoding know nothing of the column.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from kafka_protocol.columnar.arrays.arrow_memory import array_of_bytes
from kafka_protocol.columnar.arrays.schema import TOPIC_ID

_TOPIC = "topic"


@dataclass(frozen=True, slots=True)
class TopicIdColumn:
    """Adds the column where it is wanted; the first stage of a read.

    Attributes:
        columns: The wanted columns, in order.
        ids: Topic -> its id; None below Kafka 2.8.
    """

    columns: tuple[str, ...]
    ids: Mapping[str, uuid.UUID | None]

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The columns of records that the wanted columns are made of."""
        if TOPIC_ID.name not in self.columns:
            return self.columns
        listed = dict.fromkeys((*self.columns, _TOPIC))
        return tuple(each for each in listed if each != TOPIC_ID.name)

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The records with the wanted columns."""
        if TOPIC_ID.name not in self.columns:
            return iter(batches)
        texts = {topic: None if id_ is None else _text(id_) for topic, id_ in self.ids.items()}
        return (_with_column(batch, self.columns, texts) for batch in batches)


def _with_column(
    batch: pa.RecordBatch, columns: Sequence[str], texts: Mapping[str, bytes | None]
) -> pa.RecordBatch:
    topics = batch.column(_TOPIC).dictionary_encode()
    ids = array_of_bytes([texts[each] for each in topics.dictionary.to_pylist()], TOPIC_ID.type)
    column = ids.take(topics.indices)
    arrays = [column if each == TOPIC_ID.name else batch.column(each) for each in columns]
    return pa.RecordBatch.from_arrays(arrays, [*columns])


def _text(id_: uuid.UUID) -> bytes:
    """The id as Kafka's tools write it."""
    return base64.urlsafe_b64encode(id_.bytes).rstrip(b"=")
