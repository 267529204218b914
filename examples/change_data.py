"""Tables of a database in Delta: a stream applies the changes that Debezium writes to Kafka.

python examples/change_data.py  # writes some changes, and shows their table
python examples/change_data.py --servers localhost:9092 --folder /data/shop --schemas schemas.json

`schemas.json` has the columns of each table: {"customers": "id int, name string"}. The jars of
Delta come from Maven Central, or from a folder (`--jars`). `make demo-cdc` runs this with a real
PostgreSQL and Debezium, and kills it now and then.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from local_kafka import arguments, start_servers

import pyspark
from pyspark.sql import DataFrame, SparkSession

from kafka_spark_source.changes import apply_changes

DELTA = {"4.1": "io.delta:delta-spark_4.1_2.13:4.3.0", "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0"}
KEYS = {"customers": ["id"], "products": ["sku"], "orders": ["customer", "number"]}
# The key decides the partition, which keeps the changes of a row in order.
SAMPLE = [
    ('{"id": 1}', {"op": "c", "before": None, "after": {"id": 1, "name": "ann"}}),
    ('{"id": 2}', {"op": "c", "before": None, "after": {"id": 2, "name": "bob"}}),
    ('{"id": 1}', {"op": "u", "before": None, "after": {"id": 1, "name": "Ann"}}),
    ('{"id": 2}', {"op": "d", "before": {"id": 2, "name": "bob"}, "after": None}),
]


def parse() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--folder", help="for the tables and the checkpoints")
    parser.add_argument("--schemas", type=Path, help="a file with the columns of each table")
    parser.add_argument("--jars", type=Path, help="a folder with the jars of Delta")
    options = parser.parse_args()
    if options.servers and not (options.folder and options.schemas):
        parser.error("--servers needs --folder and --schemas")
    if options.jars is None and pyspark.__version__[:3] not in DELTA:
        sys.exit(f"There is no Delta for PySpark {pyspark.__version__}: pip install pyspark==4.2.0")
    return start_servers(options)


def start_spark(jars: Path | None) -> SparkSession:
    if jars:
        delta = {"spark.jars": ",".join(map(str, jars.glob("*.jar")))}
    else:
        delta = {"spark.jars.packages": DELTA[pyspark.__version__[:3]]}
    spark = (
        SparkSession.builder.master("local[2]")
        .config(map=delta)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config(
            "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


options = parse()
servers = options.servers
folder = options.folder or tempfile.mkdtemp()
schemas = {"customers": "id int, name string"}
if options.schemas:
    schemas = json.loads(options.schemas.read_text())
spark = start_spark(options.jars)
if options.is_local:
    rows = [(key, json.dumps(change)) for key, change in SAMPLE]
    events = spark.createDataFrame(rows, "key string, value string")
    to = {"kafka.bootstrap.servers": servers, "topic": "shop.public.customers"}
    events.coalesce(1).write.format("pykafka").options(**to).mode("append").save()


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


for table, columns in schemas.items():
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
if options.is_local:
    for query in spark.streams.active:
        query.processAllAvailable()
        query.stop()
    customers = spark.read.format("delta").load(f"{folder}/customers")
    customers.select("id", "name", "_tombstone").orderBy("id").show()
else:
    spark.streams.awaitAnyTermination()
