"""A topic as Arrow and as a data frame of pandas, without Spark.

python examples/arrow.py
python examples/arrow.py --servers localhost:9092 --topic orders

The result is a `pyarrow.RecordBatchReader`, which pandas, Polars and DuckDB accept.
"""

from __future__ import annotations

from local_kafka import arguments, start_servers

import pyarrow as pa

from kafka_protocol.arrow_io.table import write_table
from kafka_protocol.arrow_io.topic import read_topic

parser = arguments(__doc__)
parser.add_argument("--topic", help="the topic to read; by default it writes orders-arrow first")
options = start_servers(parser.parse_args())
kafka = {"bootstrap.servers": options.servers}
topic = options.topic or "orders-arrow"
if options.topic is None:
    sample = pa.table({"value": [f"order {number}" for number in range(1_000)]})
    write_table(sample, kafka, topic=topic, partitioner="round_robin")

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
