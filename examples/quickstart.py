"""Write three rows to Kafka and read them back; the code of the README.

Run it with the address of a broker, for example one of `pykafka broker start`:

    python examples/quickstart.py localhost:9092
"""

import sys

from pyspark.sql import SparkSession


def main(servers: str) -> None:
    spark = SparkSession.builder.appName("quickstart").getOrCreate()

    orders = spark.createDataFrame(
        [("a", "1 apple"), ("b", "2 pears"), ("a", "3 plums")], "key string, value string"
    )
    kafka = {"kafka.bootstrap.servers": servers}
    orders.write.format("pykafka").options(**kafka, topic="orders").mode("append").save()

    read = spark.read.format("pykafka").options(**kafka, subscribe="orders").load()
    read.selectExpr(
        "CAST(key AS string)", "CAST(value AS string)", "partition", "offset", "timestamp"
    ).show()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
