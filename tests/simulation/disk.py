"""What outlives every crash of Spark: the checkpoint of a query, and the files that it writes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

Headers: TypeAlias = tuple[tuple[bytes, bytes | None], ...]


class Row(NamedTuple):
    """A row that a task has read; headers and the id of the topic are None if nobody wants them."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers | None = None
    topic_id: str | None = None


@dataclass
class Disk:
    """A simulated disk; each write to it is whole or not there.

    Attributes:
        query_id: The id of the query, which Spark keeps in the checkpoint.
        ends: The offset log: the end of each micro-batch, as text.
        finished: The number of micro-batches in the commit log.
        files: Rows by the name of their file, also of attempts that failed.
        manifest: The files of each micro-batch that is written.
    """

    query_id: str
    ends: list[str] = field(default_factory=list)
    finished: int = 0
    files: dict[str, list[Row]] = field(default_factory=dict)
    manifest: dict[int, list[str]] = field(default_factory=dict)

    def rows_of(self, batch: int) -> list[Row]:
        """The rows of a micro-batch that is written."""
        return [row for name in self.manifest[batch] for row in self.files[name]]

    def processed(self) -> dict[str, dict[str, int]]:
        """The end of the last micro-batch that is finished; empty before the first one."""
        parsed: dict[str, Any] = json.loads(self.ends[self.finished - 1]) if self.finished else {}
        return parsed
