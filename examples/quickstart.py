"""Write two rows to Kafka and read them back: the code in the README.

python examples/quickstart.py
python examples/quickstart.py --servers localhost:9092
"""

from local_kafka import arguments, start_servers

from pyspark.sql import SparkSession

servers = start_servers(arguments(__doc__).parse_args()).servers

# --- README ---
spark = SparkSession.builder.getOrCreate()
kafka = {"kafka.bootstrap.servers": servers}

orders = spark.createDataFrame([("ann", "2 pears"), ("bob", "1 plum")], "key string, value string")
orders.write.format("pykafka").options(**kafka, topic="orders").mode("append").save()

df = spark.read.format("pykafka").options(**kafka, subscribe="orders").load()
df.selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)", "partition", "offset").show()
# --- README ---
