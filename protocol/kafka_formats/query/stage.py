"""The stages of a read: the steps from Kafka's records to the rows of a query.

A read is a tuple of stages. Each stage takes a RecordBatch and returns one: the first takes records
with columns as in `kafka_protocol.columnar.arrays.schema`, and the last returns rows. A stage does
not know the stages before and after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class Stage(Protocol):
    """A step of a read. It is pickled with tasks."""

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The columns of the batches that it takes: at least these, in any order."""

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches that it gives, without empty ones."""


def through(stages: Sequence[Stage], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a read."""
    return reduce(lambda given, stage: stage.rows(given), stages, iter(batches))
