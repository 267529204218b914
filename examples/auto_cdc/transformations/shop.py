"""AUTO CDC keeps tables of a PostgreSQL database, whose changes Debezium writes to Kafka."""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from kafka_spark_source.changes import change_sequence

spark = SparkSession.active()
KEYS = {"customers": ["id"], "products": ["sku"], "orders": ["customer", "number"]}
COLUMNS = {
    "customers": "id bigint, name string, is_regular boolean",
    "products": "sku string, title string, description string, weight double",
    "orders": "customer bigint, number int, amount decimal(10, 2), placed timestamp, due date",
}
CHANGE = "op string, source struct<lsn: bigint>, offset bigint, _unavailable array<string>"


def changes_of(table: str) -> DataFrame:
    schema = f"{COLUMNS[table]}, {CHANGE}"
    options = {
        "kafka.bootstrap.servers": os.environ.get("KAFKA_SERVERS", "localhost:9092"),
        "subscribe": f"shop.public.{table}",
        "startingOffsets": "earliest",
        "envelope": "debezium",
        "value.format": "json",
    }
    return spark.readStream.format("pykafka").schema(schema).options(**options).load()


for table, keys in KEYS.items():
    dp.temporary_view(name=f"changes_of_{table}")(lambda table=table: changes_of(table))
    dp.create_streaming_table(table)
    dp.create_auto_cdc_flow(
        target=table,
        source=f"changes_of_{table}",
        keys=keys,
        sequence_by=change_sequence("source.lsn"),
        apply_as_deletes="op = 'd'",
        except_column_list=["op", "source", "offset", "_unavailable"],
        stored_as_scd_type=1,
    )
