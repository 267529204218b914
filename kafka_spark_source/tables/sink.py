"""Appends the rows of a topic to its table, in one commit that says what it is.

`upsert` and `changes` need no such mark: a MERGE by the order that the table keeps with each row
changes nothing the second time.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from kafka_spark_source.tables.commits import Marker
from kafka_spark_source.tables.errors import TableError


def append(rows: DataFrame, table: str, provider: str, marker: Marker) -> None:
    """Append rows in one commit.

    Args:
        rows: They have the table's columns.
        table: The name, as SQL spells it.
        provider: `delta` or `iceberg`.
        marker: What the commit says.

    Raises:
        TableError: The table does not exist.
    """
    if provider == "delta":
        if not rows.sparkSession.catalog.tableExists(table):
            # `saveAsTable` would make it: without its mark, and with some of the records.
            raise TableError(f"the table {table} was dropped while it was written")
        options = {"userMetadata": marker.json()}
        # Delta itself skips a micro-batch that it has, if two drivers write at the same time.
        options |= {"txnAppId": marker.query_id, "txnVersion": str(marker.batch_id)}
        rows.write.format("delta").mode("append").options(**options).saveAsTable(table)
        return
    writer = rows.writeTo(table)
    for name, value in marker.properties().items():
        writer = writer.option(f"snapshot-property.{name}", value)
    writer.append()
