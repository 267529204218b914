"""Writes orders in Avro, reads some of their fields, and sets broken records aside.

python examples/orders_avro.py
python examples/orders_avro.py --servers localhost:9092 --registry http://127.0.0.1:8081/apis/ccompat/v7
"""

from local_kafka import arguments, start_servers

from pyspark.sql import SparkSession

options = start_servers(arguments(__doc__, registry=True).parse_args())
spark = SparkSession.builder.master("local[2]").getOrCreate()

kafka = {"kafka.bootstrap.servers": options.servers}
avro = {"value.format": "avro", "schema.registry.url": options.registry}

# The schema is made from the column, and registered as the first version of orders-avro-value.
orders = spark.createDataFrame(
    [(1, "ann", 12.5, [("pear", 2)]), (2, "bob", 3.0, [("plum", 1), ("fig", 4)])],
    "id long, customer string, amount double, lines array<struct<item: string, count: int>>",
)
to = {**kafka, **avro, "topic": "orders-avro", "auto.register.schemas": "true"}
orders.selectExpr("struct(*) AS value").write.format("pykafka").options(**to).mode("append").save()

# A broken record: it is not an order.
text = spark.createDataFrame([("not an order",)], "value string")
text.write.format("pykafka").options(**kafka, topic="orders-avro").mode("append").save()

# Dead letters: the unchanged payload, with its headers, in another topic.
everything = (
    spark.read.format("pykafka")
    .options(**kafka, **avro, subscribe="orders-avro", mode="PERMISSIVE", includeHeaders="true")
    .load()
)
everything.where("_error IS NULL").select("value.*").show()
broken = everything.where("_error IS NOT NULL")
broken.select("partition", "offset", "_error").show(truncate=False)
letters = broken.selectExpr("key", "_raw AS value", "headers")
letters.write.format("pykafka").options(**kafka, topic="orders-dead").mode("append").save()

# Only two fields and the offset: no other field is decoded or leaves the executors.
some = (
    spark.read.format("pykafka")
    .options(**kafka, **avro, subscribe="orders-avro", mode="DROPMALFORMED")
    .schema("value struct<id: bigint, lines: array<struct<item: string>>>, offset bigint")
    .load()
)
some.selectExpr("value.id", "value.lines.item AS items", "offset").show(truncate=False)
spark.stop()
