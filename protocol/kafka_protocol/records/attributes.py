"""The attribute bits that batches and messages share: compression codec and timestamp type.

Bits 0 to 2 are the compression codec in every format, bit 3 the timestamp type since magic 1
(KIP-32). The others exist since magic 2; `batch` has them.
"""

from __future__ import annotations

from typing import Final

NO_TIMESTAMP: Final = -1

NO_TIMESTAMP_TYPE: Final = -1
CREATE_TIME: Final = 0
LOG_APPEND_TIME: Final = 1

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08


def codec_of(attributes: int) -> int:
    """A number of `CompressionCodec`, or an unknown one."""
    return attributes & CODEC_MASK


def timestamp_type_of(attributes: int) -> int:
    """CREATE_TIME or LOG_APPEND_TIME."""
    return LOG_APPEND_TIME if attributes & LOG_APPEND_TIME_BIT else CREATE_TIME
