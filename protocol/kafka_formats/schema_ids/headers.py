"""The headers of records by name. Each value is given out as it is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_protocol.columnar.arrays.arrow_memory import indices_of, numbers_of


def last_values(headers: pa.ListArray | None, name: str) -> dict[int, bytes]:
    """Row -> the value of the last header with a name, empty for null. Others are left out.

    Args:
        headers: The headers of the records; None if there are none.
        name: The name of the header.
    """
    if headers is None or headers.null_count == len(headers):
        return {}
    entries = headers.values
    places = np.flatnonzero(pc.equal(entries.field("key"), name).fill_null(False))
    rows = np.searchsorted(numbers_of(headers.offsets), places, side="right") - 1
    inside = (rows >= 0) & (rows < len(headers))
    values = entries.field("value").take(indices_of(places[inside])).to_pylist()
    # A later header of the same row replaces an earlier one.
    return {row: value or b"" for row, value in zip(rows[inside].tolist(), values, strict=True)}
