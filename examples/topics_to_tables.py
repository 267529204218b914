"""Topics into tables: a query that makes a table of each topic of a shop, and keeps it so.

python examples/topics_to_tables.py  # writes some records, and shows their tables
python examples/topics_to_tables.py --provider iceberg  # of Iceberg, not of Delta
python examples/topics_to_tables.py --servers b:9092 --folder /data/shop --topics topics.json

`topics.json` has for each topic what its records are, and its options:
{"shop.orders": {"rows": "append", "options": {"value.format": "json", ...}}}. The jars of Delta or
Iceberg come from Maven Central, or from a folder (`--jars`). `make demo-tables` runs this with
twenty topics, and kills it now and then.
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

# Provider -> release of PySpark -> the package with its jars.
PACKAGES = {
    "delta": {
        "4.1": "io.delta:delta-spark_4.1_2.13:4.3.0",
        "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0",
    },
    "iceberg": {"4.1": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"},
}
# Provider -> the schema of its tables. Both keep them in the folder, with their catalog: a query
# that starts again finds its tables.
SCHEMAS = {"delta": "default", "iceberg": "lake.shop"}
CATALOGS = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": "{folder}/tables",
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:{folder}/db;create=true",
        # Tables are small: their logs are read with one task.
        "spark.databricks.delta.snapshotPartitions": "1",
    },
    "iceberg": {
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": "{folder}/tables",
    },
}
JSON = {"value.format": "json", "value.schema": "id bigint, name string"}
SAMPLE = {
    "shop.orders": {"rows": "append", "options": JSON},
    "shop.customers": {"rows": "upsert", "options": {"key.format": "raw", **JSON}},
}


def parse() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--provider", choices=PACKAGES, default="delta", help="of the tables")
    parser.add_argument("--folder", help="for the tables and the checkpoint")
    parser.add_argument("--topics", type=Path, help="a file with the topics")
    parser.add_argument("--jars", type=Path, help="a folder with the jars of the provider")
    options = parser.parse_args()
    if options.servers and not (options.folder and options.topics):
        parser.error("--servers needs --folder and --topics")
    releases = PACKAGES[options.provider]
    if options.jars is None and pyspark.__version__[:3] not in releases:
        sys.exit(
            f"There are no jars of {options.provider} for PySpark {pyspark.__version__}: "
            f"pip install pyspark=={max(releases)}.0"
        )
    return start_servers(options)


def start_spark(provider: str, jars: Path | None, folder: str) -> SparkSession:
    if jars:
        packages = {"spark.jars": ",".join(map(str, jars.glob("*.jar")))}
    else:
        packages = {"spark.jars.packages": PACKAGES[provider][pyspark.__version__[:3]]}
    catalog = {name: each.format(folder=folder) for name, each in CATALOGS[provider].items()}
    spark = (
        SparkSession.builder.master("local[2]")
        .config(map=packages | catalog)
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMAS[provider]}")
    return spark


options = parse()
servers = options.servers
folder = options.folder or tempfile.mkdtemp()
topics = json.loads(options.topics.read_text()) if options.topics else SAMPLE
schema = SCHEMAS[options.provider]
spark = start_spark(options.provider, options.jars, folder)
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
    table=schema + ".{topic}",
    provider=options.provider,
    rows=lambda topic: topics[topic]["rows"],
    topic_options=lambda topic: topics[topic]["options"],
    on_error="suspend",
)
if options.is_local:
    query = tables.start(f"{folder}/checkpoint", trigger={"availableNow": True})
    query.awaitTermination()
    query.show()
    for topic in topics:
        spark.table(f"{schema}.{topic.replace('.', '_')}").show()
else:
    query = tables.start(f"{folder}/checkpoint", trigger={"processingTime": "2 seconds"})
    print("the query has started", flush=True)
    while not query.awaitTermination(5):
        query.show()
