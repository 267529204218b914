"""The size limit of a batch before compression, so that it has `batch.size` after compression.

The compression ratio is estimated from the batches before, as Java's producer does (its
`CompressionRatioEstimator`).
"""

from __future__ import annotations

from typing import Final

from kafka_protocol.columnar.writing.encode import EncodedBatch, SizeLimits

# Below max.message.bytes of brokers: 1,048,588, and 1,000,012 for older ones.
_SAFE_BYTES: Final = 1_000_000

# So much of a consumer's memory may a batch take that compresses well. Larger ones gain nothing.
_MOST_ESTIMATED_BYTES: Final = 4_000_000

# The estimated ratio is too large rather than too small: it grows at once, and falls by steps.
_MARGIN: Final = 1.05
_STEP: Final = 0.05


class BatchLimit:
    """The limits for the next batches of similar records, whose wanted size is `batch_bytes`.

    Batches that compress less well than expected have at most `max_bytes`.
    """

    def __init__(self, batch_bytes: int, max_bytes: int) -> None:
        self._batch_bytes = batch_bytes
        self._sent_bytes = max(batch_bytes, min(max_bytes, _SAFE_BYTES))
        self._ratio = 1.0

    @property
    def sizes(self) -> SizeLimits:
        """The limits of the next batches, in bytes."""
        likely = int(self._batch_bytes / (self._ratio * _MARGIN))
        estimated = max(self._batch_bytes, min(likely, _MOST_ESTIMATED_BYTES))
        return SizeLimits(estimated, self._sent_bytes)

    def note(self, batch: EncodedBatch) -> None:
        """Update the ratio from a batch; small ones, which compress less well, do not count."""
        if 2 * batch.estimated_bytes < self._batch_bytes:
            return
        self._ratio = max(batch.sent_bytes / batch.estimated_bytes, self._ratio - _STEP)
