"""Write two rows to Kafka and read them back on Sail, without a JVM: the code in docs/sail.md.

python examples/sail.py
python examples/sail.py --servers localhost:9092
"""

from local_kafka import arguments, start_servers

from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession

servers = start_servers(arguments(__doc__).parse_args()).servers

# --- docs ---
server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
host, port = server.listening_address
spark = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
kafka = {"kafka.bootstrap.servers": servers}

orders = spark.createDataFrame([("ann", "2 pears"), ("bob", "1 plum")], "key string, value string")
orders.write.format("pykafka").options(**kafka, topic="orders").mode("append").save()

df = spark.read.format("pykafka").options(**kafka, subscribe="orders").load()
df.selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)", "partition", "offset").show()
