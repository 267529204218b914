"""What the last commit of a query to a table says: the micro-batch, and its ranges of offsets.

Each commit carries a `Marker`: in Delta as the user's metadata of the commit, in Iceberg as
properties of the snapshot. A run looks for the last one before it writes to a table, and after a
failure whose outcome is not known. Spark's checkpoint cannot be asked: it may be older than the
table, as after a restored backup, and then numbers of micro-batches are used twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from pyspark.sql import SparkSession

from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.ranges import from_row, to_row
from kafka_spark_source.tables.target import Target

QUERY: Final = "pykafka-query"
BATCH: Final = "pykafka-batch"
RANGES: Final = "pykafka-ranges"
_HISTORY: Final = 1_000
"""How many commits of Delta are looked at; older ones are read from files one by one."""
_MAX_RANGES: Final = 500


class Marker(NamedTuple):
    """The mark of a commit.

    Attributes:
        query_id: The streaming query.
        batch_id: Its micro-batch.
        ranges: The ranges as JSON, or a digest of very many.
    """

    query_id: str
    batch_id: int
    ranges: str

    @classmethod
    def of(cls, query_id: str, batch_id: int, ranges: Sequence[PlannedRange]) -> Marker:
        """The mark of a commit with these ranges."""
        rows = json.dumps([to_row(each) for each in ranges], separators=(",", ":"))
        if len(ranges) > _MAX_RANGES:
            rows = hashlib.sha256(rows.encode()).hexdigest()
        return cls(query_id, batch_id, rows)

    @classmethod
    def read(cls, properties: Mapping[str, Any]) -> Marker | None:
        """The mark among properties of a snapshot, or in the metadata of a commit."""
        try:
            return cls(
                str(properties[QUERY]), int(properties[BATCH]), str(properties.get(RANGES, ""))
            )
        except (KeyError, TypeError, ValueError):
            return None

    def json(self) -> str:
        """The mark as the metadata of a commit."""
        return json.dumps(self.properties())

    def properties(self) -> dict[str, str]:
        """The mark as properties of a snapshot."""
        return {QUERY: self.query_id, BATCH: str(self.batch_id), RANGES: self.ranges}

    def planned(self) -> list[PlannedRange] | None:
        """The ranges; None if there is only their digest."""
        try:
            return [from_row(each) for each in json.loads(self.ranges)]
        except (TypeError, ValueError):
            return None


def last_markers(
    target: Target, query_id: str, since_ms: float | None, late_since: int | None
) -> list[Marker]:
    """The marks of the query's last commits to the table, newest first.

    The last one; of a late topic all since it is late, and one before if it can be seen. Empty if
    the query has written nothing.

    Args:
        target: The table.
        query_id: The query.
        since_ms: Since when the table may have what is written now, in ms since 1970; None if it
            cannot have it.
        late_since: The micro-batch since which the topic is late; None if it is not.

    Raises:
        TableError: There is no mark, and commits that are as new cannot be seen any more.
    """
    table = target.name
    commits = _delta_commits if target.layout.provider == "delta" else _iceberg_commits
    oldest_ms: float | None = None
    markers: list[Marker] = []
    for at_ms, marker in commits(target.spark, table):
        oldest_ms = at_ms
        if marker is not None and marker.query_id == query_id:
            markers.append(marker)
            if late_since is None or marker.batch_id < late_since:
                return markers
    if since_ms is not None and oldest_ms is not None and oldest_ms >= since_ms:
        raise TableError(
            f"whether the table {table} has what was cut off is not known: its commits since then "
            f"have expired, or are more than {_HISTORY:,}. Keep the history of some hours. To go "
            "on, compare the table's offsets with the checkpoint, and give the query a new "
            "checkpoint with `startingOffsets`"
        )
    return markers


def _delta_commits(spark: SparkSession, table: str) -> Iterator[tuple[float | None, Marker | None]]:
    """When the commits were made that can be seen, newest first, and their marks.

    The time of a table's first commit is None: there is nothing before it.
    """
    history = spark.sql(f"DESCRIBE HISTORY {table} LIMIT {_HISTORY}")
    rows = history.select("version", "timestamp", "userMetadata").collect()
    for version, at, metadata in rows:
        yield (_ms(at) if version else None), _of_json(metadata)


def _ms(at: datetime) -> float:
    return at.timestamp() * 1000


def _of_json(metadata: str | None) -> Marker | None:
    try:
        read = json.loads(metadata or "")
    except ValueError:
        return None
    return Marker.read(read) if isinstance(read, dict) else None


def _iceberg_commits(
    spark: SparkSession, table: str
) -> Iterator[tuple[float | None, Marker | None]]:
    """As of Delta, from the current snapshot back: neither tags nor a rollback mislead."""
    columns = "snapshot_id, parent_id, committed_at, summary"
    rows = spark.sql(f"SELECT {columns} FROM {table}.snapshots").collect()  # noqa: S608 - quoted
    snapshots = {row["snapshot_id"]: row for row in rows}
    refs = f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'"  # noqa: S608 - quoted
    current = spark.sql(refs).collect()
    at = current[0][0] if current else None
    while at in snapshots:
        row = snapshots[at]
        at = row["parent_id"]
        yield (None if at is None else _ms(row["committed_at"])), Marker.read(row["summary"])
