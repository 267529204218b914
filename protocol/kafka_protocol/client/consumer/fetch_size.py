"""How many bytes of a partition to request: as many as the rest of a range needs. Pure.

A broker fills a response up to its limit, also with records after the range, and its reader drops
them. With large limits that can be many times the range. So the sizes of batches that have come say
how many bytes the rest needs. The first Fetch is a small one: nothing is known, and the sooner it
comes, the sooner its records are decoded while the next response is on its way.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.fetch_request import OVERHEAD_BYTES
from kafka_protocol.records.batch import BatchHeader
from kafka_protocol.records.fetch_response import TakenBatches

# The most for the first Fetch, without the margin; the default of Java's
# `max.partition.fetch.bytes`.
_FIRST_BYTES: Final = 1024 * 1024
# Records of this size are expected before one has come.
_EXPECTED_RECORD_BYTES: Final = 1024
# Later records may be larger than earlier ones.
_MARGIN: Final = 1.1
# A range begins and ends within batches, and of other partitions than the first a broker sends no
# batch above the limit.
_LEAST_MARGIN_BYTES: Final = 64 * 1024


class FetchSize:
    """The size of Fetches from partitions with records of about one size.

    Attributes:
        most: What a response may hold of a partition at the most, in bytes.
    """

    def __init__(self, config: ClientConfig) -> None:
        self.most = max(1, config.max_response_bytes - OVERHEAD_BYTES)
        self._limit = min(config.max_partition_fetch_bytes, self.most)
        self._least = 1
        self._margin_bytes = _LEAST_MARGIN_BYTES
        self._bytes = 0
        self._offsets = 0
        self._newest_bytes_per_offset = 0.0
        self._batch_bytes = 0

    def __repr__(self) -> str:
        return f"<FetchSize: {self._bytes:,} bytes in {self._offsets:,} offsets>"

    def for_offsets(self, offsets: int) -> int:
        """How many bytes to request for so many offsets, which may be more than ever come."""
        if self._offsets:
            needed = int(offsets * _MARGIN * self._bytes / self._offsets)
        else:
            needed = min(offsets * _EXPECTED_RECORD_BYTES, _FIRST_BYTES)
        return max(self._least, min(needed + self._margin_bytes, self._limit))

    def offsets_in(self, size: int) -> int:
        """How many offsets so many bytes hold at the least, if records stay as they were.

        The last batch of a response is mostly cut off. The newest response counts alone where its
        records were larger than before. 0 or less if no batch has come, or a batch may not fit.
        """
        if not self._offsets:
            return 0
        bytes_per_offset = max(self._bytes / self._offsets, self._newest_bytes_per_offset)
        return ceil((size - self._batch_bytes) / (bytes_per_offset * _MARGIN))

    def note(self, taken: TakenBatches, from_offset: int) -> None:
        """Note the batches of a response for the records from this offset on."""
        if taken.batches:
            header = taken.batches[0].header
            if isinstance(header, BatchHeader):  # the others do not say where a batch begins
                from_offset = min(from_offset, header.base_offset)
            batch_bytes = min(taken.size // len(taken.batches), _FIRST_BYTES)
            self._margin_bytes = max(self._margin_bytes, batch_bytes)
            self._batch_bytes = max(self._batch_bytes, batch_bytes)
        self._bytes += taken.size
        self._offsets += taken.position - from_offset
        self._newest_bytes_per_offset = taken.size / (taken.position - from_offset)

    def enlarge(self, size: int) -> None:
        """Request more than this from now on, up to `most`."""
        self._least = min(2 * size, self.most)
