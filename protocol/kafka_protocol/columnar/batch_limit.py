"""How much goes into a batch before compression, so that it is as large as asked for when sent.

`batch.size` means what is sent, as with Java's producer, which knows it as little beforehand and
goes by what became of the batches before (its `CompressionRatioEstimator`).
"""

from __future__ import annotations

from typing import Final

from kafka_protocol.columnar.encode import EncodedBatch

# Below max.message.bytes of brokers: 1,048,588, and 1,000,012 for older ones.
_SAFE_BYTES: Final = 1_000_000

# What is guessed is too small rather than too large; a guess gets smaller by steps, larger at once.
_MARGIN: Final = 1.05
_STEP: Final = 0.05


class BatchLimit:
    """The limit for the next batches of similar records.

    Args:
        batch_bytes: How large a batch is to be when it is sent.
        most_bytes: How large it must not become, however badly it is compressed.
    """

    def __init__(self, batch_bytes: int, most_bytes: int) -> None:
        self._batch_bytes = batch_bytes
        self._most_bytes = min(most_bytes, _SAFE_BYTES)
        self._ratio = 1.0

    @property
    def bytes(self) -> int:
        """How large the next ones may become, as the encoder estimates it beforehand."""
        likely = int(self._batch_bytes / (self._ratio * _MARGIN))
        return max(self._batch_bytes, min(likely, self._most_bytes))

    def note(self, batch: EncodedBatch) -> None:
        """Learn from a batch, unless it is a small rest, which is compressed less well."""
        if 2 * batch.most_bytes < self.bytes:
            return
        self._ratio = max(batch.sent_bytes / batch.most_bytes, self._ratio - _STEP)
