"""Topics into tables of Delta or Iceberg, kept so by one streaming query.

    from kafka_spark_source.tables import topics_to_tables

    topics_to_tables(spark, options, "lake.shop.{topic}").start("/data/checkpoints/shop")

The stream reads ranges of offsets (`range_source`), and each micro-batch writes the records of each
topic's ranges to its table (`micro_batch`, `writer`, `topic_table`, `sink`); `backfiller` fills
tables anew beside it. `arguments`, `names`, `ranges`, `rows`, `growth`, `members`, `conform` and
`ddl` are pure. Nothing here decodes a payload.
"""

from __future__ import annotations

from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.query import TopicsToTables, topics_to_tables

__all__ = ["TableError", "TopicsToTables", "topics_to_tables"]
