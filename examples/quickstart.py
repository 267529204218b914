"""Write three rows to Kafka and read them back: the code in the README.

pykafka broker start --port 9092
python examples/quickstart.py
"""

import sys

from pyspark.sql import SparkSession

servers = sys.argv[1] if len(sys.argv) > 1 else "localhost:9092"

# --- README ---
spark = SparkSession.builder.getOrCreate()
kafka = {"kafka.bootstrap.servers": servers}

orders = spark.createDataFrame([("ann", "2 pears"), ("bob", "1 plum")], "key string, value string")
orders.write.format("pykafka").options(**kafka, topic="orders").mode("append").save()

df = spark.read.format("pykafka").options(**kafka, subscribe="orders").load()
df.selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)", "partition", "offset").show()
# --- README ---
