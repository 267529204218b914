"""Payloads of Avro, as an Arrow array of bytes -> the values, and which of them are broken."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kafka_formats.arrow.arrays import bounds_of, data_of, in_rows, is_valid
from kafka_formats.arrow.bytes_cursor import Cursor
from kafka_formats.avro.plan import Plan
from kafka_formats.avro.vectorised import read
from kafka_formats.payload.format import Decoded


def decode(payloads: pa.BinaryArray, plan: Plan, skipped_bytes: int = 0) -> Decoded:
    """Decode payloads, all of one writer's schema; `scalar.read_payload` says why one is broken.

    Args:
        payloads: Binary; null for a tombstone.
        plan: From `plan.resolve`.
        skipped_bytes: The size of a frame before each payload.
    """
    has_payload, bounds = is_valid(payloads), bounds_of(payloads)
    at, end = bounds[:-1] + skipped_bytes, bounds[1:]
    slots = np.flatnonzero(has_payload)
    cursor = Cursor(data_of(payloads), at[slots], end[slots], at[slots] > end[slots])
    found = read(plan, cursor)
    is_broken = np.zeros(len(payloads), dtype=np.bool_)
    is_broken[slots] = cursor.is_broken | (cursor.at > cursor.end)
    if len(slots) == len(payloads):
        return Decoded(found, is_broken)
    return Decoded(in_rows(has_payload, found), is_broken)
