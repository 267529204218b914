"""A streaming table reads the topic `orders`, and a sink writes large orders to another topic."""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()
kafka = {"kafka.bootstrap.servers": os.environ.get("KAFKA_SERVERS", "localhost:9092")}


@dp.table
def orders() -> DataFrame:
    source = {"subscribe": "orders", "startingOffsets": "earliest"}
    rows = spark.readStream.format("pykafka").options(**kafka, **source).load()
    return rows.selectExpr("string(key) AS customer", "int(string(value)) AS amount")


dp.create_sink("large_orders", "pykafka", {**kafka, "topic": "large-orders"})


@dp.append_flow(target="large_orders")
def to_large_orders() -> DataFrame:
    large = spark.readStream.table("orders").where("amount >= 100")
    return large.selectExpr("customer AS key", "string(amount) AS value")
