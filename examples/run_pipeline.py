"""Writes orders, runs the declarative pipeline of `pipeline/` once, and shows its output.

python examples/run_pipeline.py
python examples/run_pipeline.py --servers localhost:9092

The pipeline reads the topic `orders` into a table, and writes the large ones to `large-orders`.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from local_kafka import arguments, start_servers

import grpc  # noqa: F401 - Spark needs both
import pyarrow as pa
import pyspark
import yaml  # noqa: F401

from kafka_protocol.arrow_io.table import write_table
from kafka_protocol.arrow_io.topic import read_topic

PIPELINE = Path(__file__).parent / "pipeline"

options = start_servers(arguments(__doc__).parse_args())
kafka = {"bootstrap.servers": options.servers}
orders = pa.table({"key": ["ann", "bob", "cid"], "value": ["7", "100", "250"]})
write_table(orders, kafka, topic="orders")

# Each run has a folder of its own, so it reads the topic from the beginning. Spark's warehouse is
# in it, too: without Hive, the next run would find the table's files, and no table.
folder = Path(tempfile.mkdtemp()) / "pipeline"
shutil.copytree(PIPELINE, folder)
spec = folder / "spark-pipeline.yml"
spec.write_text(spec.read_text().replace("/tmp/pykafka-pipeline", str(folder / "storage")))  # noqa: S108
subprocess.run(  # noqa: S603 - it is Spark's own
    [Path(pyspark.__file__).parent / "bin" / "spark-pipelines", "run", "--spec", spec],
    cwd=folder,
    env=os.environ | {"KAFKA_SERVERS": options.servers},
    check=True,
)
large = read_topic("large-orders", kafka, columns=["key", "value"]).read_all()
for customer, amount in zip(*large.to_pydict().values(), strict=True):
    print(customer.decode(), amount.decode())
