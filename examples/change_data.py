"""A database's tables in Delta: its changes, as Debezium writes them to Kafka, applied by a stream.

`make demo-cdc` runs it beside a real PostgreSQL and Debezium, and kills it now and then:

    python examples/change_data.py localhost:9092 /data/shop schemas.json jars

`schemas.json` has the columns of each table, `jars` those of Delta for this release of PySpark.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kafka_spark_source.changes import apply_changes

servers, folder, schemas, jars = sys.argv[1:]
KEYS = {"customers": ["id"], "products": ["sku"], "orders": ["customer", "number"]}

spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.jars", ",".join(map(str, Path(jars).glob("*.jar"))))
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")


# --- docs ---
def changes_of(table: str, columns: str) -> DataFrame:
    options = {
        "kafka.bootstrap.servers": servers,
        "subscribe": f"shop.public.{table}",
        "startingOffsets": "earliest",
        "envelope": "debezium",
        "value.format": "json",
        "value.schema": columns,
    }
    return spark.readStream.format("pykafka").options(**options).load()


for table, columns in json.loads(Path(schemas).read_text()).items():
    target = f"{folder}/{table}"
    keys = ", ".join(each for each in columns.split(", ") if each.split()[0] in KEYS[table])
    spark.sql(f"CREATE TABLE IF NOT EXISTS delta.`{target}` ({keys}) USING delta")
    (
        changes_of(table, columns)
        .writeStream.queryName(table)
        .foreachBatch(apply_changes(target, keys=KEYS[table], evolve=True))
        .option("checkpointLocation", f"{folder}/checkpoints/{table}")
        .trigger(processingTime="1 second")
        .start()
    )
# --- docs ---
print("the stream has started", flush=True)
spark.streams.awaitAnyTermination()
