"""Topics into tables of Delta: a query that makes a table of each topic of a shop, and keeps it so.

python examples/topics_to_tables.py  # writes some records, and shows their tables
python examples/topics_to_tables.py --servers b:9092 --folder /data/shop --topics topics.json

`topics.json` has for each topic what its records are, and its options:
{"shop.orders": {"rows": "append", "options": {"value.format": "json", ...}}}. The jars of Delta
come from Maven Central, or from a folder (`--jars`). `make demo-tables` runs this with twenty
topics, and kills it now and then.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from local_kafka import arguments, start_servers

import pyspark
from pyspark.sql import SparkSession

from kafka_spark_source.tables import topics_to_tables

DELTA = {"4.1": "io.delta:delta-spark_4.1_2.13:4.3.0", "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0"}
JSON = {"value.format": "json", "value.schema": "id bigint, name string"}
SAMPLE = {
    "shop.orders": {"rows": "append", "options": JSON},
    "shop.customers": {"rows": "upsert", "options": {"key.format": "raw", **JSON}},
}


def parse() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--folder", help="for the tables and the checkpoint")
    parser.add_argument("--topics", type=Path, help="a file with the topics")
    parser.add_argument("--jars", type=Path, help="a folder with the jars of Delta")
    options = parser.parse_args()
    if options.servers and not (options.folder and options.topics):
        parser.error("--servers needs --folder and --topics")
    if options.jars is None and pyspark.__version__[:3] not in DELTA:
        sys.exit(f"There is no Delta for PySpark {pyspark.__version__}: pip install pyspark==4.2.0")
    return start_servers(options)


def start_spark(jars: Path | None, folder: str) -> SparkSession:
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
        .config("spark.sql.warehouse.dir", f"{folder}/tables")
        # A catalog in the folder, so that a query that starts again finds its tables.
        .config("spark.sql.catalogImplementation", "hive")
        .config(
            "spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:{folder}/db;create=true"
        )
        .config("spark.sql.shuffle.partitions", "2")
        # Tables are small: their logs are read with one task.
        .config("spark.databricks.delta.snapshotPartitions", "1")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


options = parse()
servers = options.servers
folder = options.folder or tempfile.mkdtemp()
topics = json.loads(options.topics.read_text()) if options.topics else SAMPLE
spark = start_spark(options.jars, folder)
if options.is_local:
    for topic in topics:
        rows = [(f"{id_}", json.dumps({"id": id_, "name": f"name {id_}"})) for id_ in range(3)]
        frame = spark.createDataFrame(rows, "key string, value string")
        to = {"kafka.bootstrap.servers": servers, "topic": topic}
        frame.write.format("pykafka").options(**to).mode("append").save()

tables = topics_to_tables(
    spark,
    {
        "kafka.bootstrap.servers": servers,
        "subscribePattern": r"shop\..*",
        "startingOffsets": "earliest",
    },
    table="default.{topic}",
    rows=lambda topic: topics[topic]["rows"],
    topic_options=lambda topic: topics[topic]["options"],
    on_error="suspend",
)
if options.is_local:
    query = tables.start(f"{folder}/checkpoint", trigger={"availableNow": True})
    query.awaitTermination()
    query.show()
    for topic in topics:
        spark.table(f"default.{topic.replace('.', '_')}").show()
else:
    query = tables.start(f"{folder}/checkpoint", trigger={"processingTime": "2 seconds"})
    print("the query has started", flush=True)
    while not query.awaitTermination(5):
        query.show()
