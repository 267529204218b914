"""What the last commit of a query to a table says: the micro-batch, and its ranges of offsets.

Each commit carries a `Marker`: in Delta as the user's metadata of the commit, in Iceberg as
properties of the snapshot. A run looks for the last one before it writes to a table, and after a
failure whose outcome is not known. Spark's checkpoint cannot be asked: it may be older than the
table, as after a restored backup, and then numbers of micro-batches are used twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from pyspark.sql import SparkSession

from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.ranges import from_row, to_row

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


def last_marker(
    spark: SparkSession, table: str, provider: str, query_id: str, since: datetime | None
) -> Marker | None:
    """The mark of the query's last commit to the table; None if it has written nothing.

    Args:
        spark: The session.
        table: The table, as SQL spells it.
        provider: `delta` or `iceberg`.
        query_id: The query.
        since: When the micro-batch was planned that may be in the table; None if it cannot be.

    Raises:
        TableError: Snapshots have expired that are as new as the micro-batch.
    """
    if provider == "delta":
        return _first(_delta_markers(spark, table), query_id)
    return _iceberg_marker(spark, table, query_id, since)


def _first(markers: Iterable[Marker | None], query_id: str) -> Marker | None:
    return next((each for each in markers if each and each.query_id == query_id), None)


def _delta_markers(spark: SparkSession, table: str) -> list[Marker | None]:
    history = spark.sql(f"DESCRIBE HISTORY {table} LIMIT {_HISTORY}").select("userMetadata")
    return [_of_json(row[0]) for row in history.collect()]


def _of_json(metadata: str | None) -> Marker | None:
    try:
        read = json.loads(metadata or "")
    except ValueError:
        return None
    return Marker.read(read) if isinstance(read, dict) else None


def _iceberg_marker(
    spark: SparkSession, table: str, query_id: str, since: datetime | None
) -> Marker | None:
    """Looks from the current snapshot back, so that neither tags nor a rollback mislead."""
    columns = "snapshot_id, parent_id, committed_at, summary"
    rows = spark.sql(f"SELECT {columns} FROM {table}.snapshots").collect()  # noqa: S608 - quoted
    snapshots = {row["snapshot_id"]: row for row in rows}
    refs = f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'"  # noqa: S608 - quoted
    current = spark.sql(refs).collect()
    at, oldest = (current[0][0] if current else None), None
    while at in snapshots:
        oldest = snapshots[at]
        marker = Marker.read(oldest["summary"])
        if marker is not None and marker.query_id == query_id:
            return marker
        at = oldest["parent_id"]
    has_all = at is None or since is None or (oldest and oldest["committed_at"] < since)
    if not has_all:
        raise TableError(
            f"whether the table {table} has the micro-batch that was cut off is not known: its "
            "snapshots since then have expired. Keep snapshots of some hours. To go on, compare "
            "the table's offsets with the checkpoint, and give the query a new checkpoint with "
            "`startingOffsets`"
        )
    return None
