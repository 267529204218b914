"""A complete streaming job: JSON orders become sales per item and five minutes.

python examples/streaming_orders.py  # writes 10,000 orders, reads them, and ends
python examples/streaming_orders.py --servers localhost:9092 --topic orders --output shop

An order: {"order_id": 7, "item": "pears", "quantity": 2, "event_time": "2026-01-01T00:00:07Z"}.
Each window of an item is written once, when it is complete. Orders that arrive more than ten
minutes late are dropped. Two queries read the topic, and continue when the job is started again:

- One writes the topic `orders-sales`, with item and window as the key; read it with
  isolation.level=read_committed.
- The other writes files, in `shop/sales`.

No order is lost or counted twice, however the job ends.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from pathlib import Path

from local_kafka import arguments, start_servers

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kafka_spark_source.lag import LagListener

ORDER = "order_id long, item string, quantity int, event_time timestamp"
ITEMS = ("apples", "pears", "plums", "Äpfel", "林檎")


def parse() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--topic", default="orders", help="the topic with the orders")
    parser.add_argument("--output", type=Path, help="a folder for the files and the checkpoints")
    parser.add_argument("--available-now", action="store_true", help="read what exists, then end")
    parser.add_argument("--sample", type=int, help="write ROWS orders first", metavar="ROWS")
    options = parser.parse_args()
    if options.servers is None:
        options.sample = options.sample or 10_000
        options.available_now = True
        options.output = options.output or Path(tempfile.mkdtemp())
    elif options.output is None:
        parser.error("--servers needs --output: the query continues there when it starts again")
    return start_servers(options)


def write_sample(spark: SparkSession, rows: int, kafka: dict[str, str], topic: str) -> None:
    """Write one order for each second from the beginning of 2026."""
    items = F.array(*map(F.lit, ITEMS))
    order = F.struct(
        F.col("id").alias("order_id"),
        F.get(items, F.col("id") % len(ITEMS)).alias("item"),
        (F.col("id") % 9 + 1).alias("quantity"),
        F.timestamp_seconds(F.lit(1_767_225_600) + F.col("id")).alias("event_time"),
    )
    values = spark.range(rows).select(F.to_json(order).alias("value"))
    values.write.format("pykafka").options(**kafka, topic=topic).mode("append").save()


def read_sales(spark: SparkSession, kafka: dict[str, str], topic: str) -> DataFrame:
    """Sales per item and window, from all orders in the topic."""
    records = (
        spark.readStream.format("pykafka")
        .options(**kafka, subscribe=topic, startingOffsets="earliest")
        .load()
    )
    orders = records.select(F.from_json(F.col("value").cast("string"), ORDER).alias("order"))
    return (
        orders.select("order.*")
        .where("event_time is not null")  # drops null values and invalid orders
        .withWatermark("event_time", "10 minutes")
        .groupBy(F.window("event_time", "5 minutes"), "item")
        .agg(F.count("*").alias("orders"), F.sum("quantity").alias("quantity"))
        .select("item", "window.start", "window.end", "orders", "quantity")
    )


def into_kafka(sales: DataFrame, kafka: dict[str, str], topic: str) -> DataStreamWriter:
    key = F.concat_ws(" ", "item", F.date_format("start", "yyyy-MM-dd HH:mm"))
    records = sales.select(key.alias("key"), F.to_json(F.struct("*")).alias("value"))
    writer = records.writeStream.format("pykafka").options(**kafka, topic=topic)
    return writer.options(deliveryGuarantee="exactly_once", transactionalIdPrefix=topic)


def into_files(sales: DataFrame, output: Path) -> DataStreamWriter:
    return sales.writeStream.format("parquet").option("path", str(output / "sales"))


def start_query(name: str, writer: DataStreamWriter, options: argparse.Namespace) -> StreamingQuery:
    checkpoint = options.output / "checkpoints" / name
    writer = writer.queryName(name).outputMode("append")
    writer = writer.option("checkpointLocation", str(checkpoint))
    if options.available_now:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime="10 seconds").start()


def main() -> None:
    options = parse()
    logging.basicConfig(format="%(message)s")
    logging.getLogger("kafka_spark_source.lag").setLevel(logging.INFO)  # one line for each batch
    spark = (
        SparkSession.builder.appName("streaming orders")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.streams.addListener(LagListener())
    kafka = {"kafka.bootstrap.servers": options.servers}
    if options.sample:
        write_sample(spark, options.sample, kafka, options.topic)

    # One plan for each query: Spark marks a plan while a query runs, and a second query on it can
    # fail with "Task not serializable".
    to_kafka, to_files = (read_sales(spark, kafka, options.topic) for _ in range(2))
    queries = [
        start_query("kafka", into_kafka(to_kafka, kafka, f"{options.topic}-sales"), options),
        start_query("files", into_files(to_files, options.output), options),
    ]
    if options.available_now:
        for query in queries:
            query.awaitTermination()
        spark.read.parquet(str(options.output / "sales")).orderBy("start", "item").show(10)
    else:
        spark.streams.awaitAnyTermination()  # until one fails
    spark.stop()


if __name__ == "__main__":
    main()
