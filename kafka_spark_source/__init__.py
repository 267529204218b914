"""The Spark half of pykafka: a Kafka connector for PySpark without a jar."""

from kafka_spark_source.worker.log_lines import name_our_lines

name_our_lines()
