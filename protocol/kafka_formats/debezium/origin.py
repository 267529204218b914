"""The origin of each column of a read of changes. Pure: nothing here reads or decodes."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import pyarrow as pa


class Origin(Enum):
    """The part of a record that a column is taken from."""

    ROW = "row"
    """The row of the table in the event: `after`, or for a delete `before`."""
    EVENT = "event"
    KEY = "key"
    """The decoded key of the record, which is one column."""
    RECORD = "record"
    """The record itself: its place, time, headers, and a key that is not decoded."""


class Column(NamedTuple):
    """A column of a read.

    Attributes:
        origin: Where it comes from.
        name: Its name there; a decoded key has none.
        type: Its type; None if only the query knows it.
    """

    origin: Origin
    name: str
    type: pa.DataType | None
