"""Changes of rows into a Delta or Iceberg table: the function for `foreachBatch`.

    from kafka_spark_source.changes import apply_changes

    changes.writeStream.foreachBatch(apply_changes("shop.orders", keys=["id"])).start()

`arguments`, `order`, `sql`, `statement` and `types` are pure; `rows`, `checks`, `known_values` and
`versions` make the source of the MERGE, `target` knows the table, `sequence` makes the column that
orders changes. Nothing here reads Kafka.
"""

from __future__ import annotations

from kafka_spark_source.changes.apply import apply_changes
from kafka_spark_source.changes.sequence import change_sequence

__all__ = ["apply_changes", "change_sequence"]
