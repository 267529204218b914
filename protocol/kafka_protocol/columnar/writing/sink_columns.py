"""The columns of rows to write. Without Arrow, so that a driver can plan a write without it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SinkColumns:
    """The indexes of the columns in a written schema; None for a column that is not used."""

    value: int
    key: int | None
    topic: int | None
    partition: int | None
    headers: int | None
    timestamp: int | None
