"""A topic as Arrow, without Spark: `python examples/arrow.py localhost:9092 orders`.

The result is a `pyarrow.RecordBatchReader`, which pandas, Polars and DuckDB accept.
"""

from __future__ import annotations

import sys

from kafka_protocol.columnar.topic import read_topic

servers, topic = sys.argv[1:]
kafka = {"bootstrap.servers": servers}

# --- docs ---
# Batch by batch: memory holds a few fetches, however long the topic is.
total = 0
for batch in read_topic(topic, kafka, columns=["value"]):
    total += batch.num_rows

# The same as one table, and as a data frame of pandas.
table = read_topic(topic, kafka, columns=["partition", "offset", "timestamp", "value"]).read_all()
per_partition = table.to_pandas().groupby("partition")["offset"].agg(["count", "max"])
# --- docs ---

print(f"{total:,} records")
print(per_partition)
