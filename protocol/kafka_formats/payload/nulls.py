"""Payloads that are not empty and stand for null, which deletes the row of a key.

Kafka Connect's converters write them for records with a schema and a null value: JSON's `null`,
also beside a schema or after the id of one, and the null of a union of Avro. Nothing else is
decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_formats.arrow.arrays import null_where, without_first
from kafka_formats.options.settings import Framing
from kafka_formats.payload.format import Bools
from kafka_formats.schema_ids.frames import SchemaId
from kafka_formats.schema_ids.framings import HEADERS, frames_of, splits_of
from kafka_protocol.columnar.arrays.arrow_memory import bools_of, indices_of, is_valid

# The regular expression of the payloads of a schema that are null; None if no payload is null. It
# is pickled with tasks.
NullPattern: TypeAlias = Callable[[SchemaId], "str | None"]


@dataclass(frozen=True, slots=True)
class NullPayloads:
    """Finds the payloads of a column that stand for null. It is pickled with tasks.

    Attributes:
        column: `key` or `value`.
        framing: Where the id of a payload's schema is.
        pattern_of: What payloads have after their frames if they are null, by their schema.
        part: What all of them contain, frames and schemas included; empty if that is not known.
    """

    column: str
    framing: Framing
    pattern_of: NullPattern
    part: str = ""

    @property
    def needs_headers(self) -> bool:
        """Whether the headers of the records are needed."""
        return self.framing in HEADERS

    def values_in(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """The column of records; null for payloads that stand for it."""
        payloads = batch.column(self.column)
        headers = batch.column("headers") if self.needs_headers else None
        return null_where(self.of(payloads, headers), payloads)

    def of(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Bools:
        """Whether each payload stands for null; true for null itself.

        Args:
            payloads: Keys or values.
            headers: The headers of the records, if they are needed.
        """
        is_null = ~is_valid(payloads)
        has_part = self.part and self.framing is not Framing.GLUE  # which may be compressed
        may_be = pc.match_substring(payloads, self.part) if has_part else payloads.is_valid()
        rows = np.flatnonzero(bools_of(may_be.fill_null(False)))
        if not len(rows):
            return is_null
        chosen = payloads.take(indices_of(rows))
        chosen_headers = headers.take(indices_of(rows)) if headers is not None else None
        # Compressed payloads may become too large together.
        bounds = sorted({0, len(rows), *splits_of(self.framing, chosen)})
        for start, end in pairwise(bounds):
            part = None if chosen_headers is None else chosen_headers.slice(start, end - start)
            stand_for_null = self._among(chosen.slice(start, end - start), part)
            is_null[rows[start:end]] = stand_for_null
        return is_null

    def _among(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Bools:
        frames = frames_of(self.framing, payloads, headers, self.column)
        unpacked = payloads if frames.unpacked is None else frames.unpacked
        is_null = ~is_valid(unpacked)
        is_null[frames.unframed] = False
        for group in frames.groups:
            pattern = self.pattern_of(group.schema_id)
            if pattern is not None:
                own = without_first(group.frame_bytes, unpacked.take(indices_of(group.rows)))
                matches = pc.match_substring_regex(own, pattern).fill_null(False)
                is_null[group.rows] |= bools_of(matches)
        return is_null


@dataclass(frozen=True, slots=True)
class NullsMadeNull:
    """Makes payloads that stand for null null; a stage of a read.

    Attributes:
        source_columns: The columns of the records, which stay.
        nulls: Finds the payloads, which are in one of them.
    """

    source_columns: tuple[str, ...]
    nulls: NullPayloads

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same records."""
        for batch in batches:
            place = batch.schema.get_field_index(self.nulls.column)
            values = self.nulls.values_in(batch)
            yield batch.set_column(place, batch.schema.field(place), values)
