"""What the writers of all message formats have in common: columns in, a way to write some out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kafka_protocol.columnar.varints import Longs


class RecordColumns(NamedTuple):
    """Records of one partition, in order. `key`, `value`: binary; `timestamp`: ms, int64."""

    key: pa.Array
    value: pa.Array
    timestamp: Longs
    headers: pa.Array | None = None  # list<struct<key: string, value: binary>>


class Encoder(NamedTuple):
    """Records that are ready to be written in some format."""

    most_bytes: Longs  # that each of them takes, before compression
    encode: Callable[[slice], bytes]  # some of them, as one batch


def joined_bytes(joined: pa.Array) -> memoryview:
    """The bytes of a binary array without nulls, one element behind the other."""
    offsets = np.frombuffer(joined.buffers()[1], dtype=np.int32)
    first, last = int(offsets[joined.offset]), int(offsets[joined.offset + len(joined)])
    return memoryview(joined.buffers()[2])[first:last]
