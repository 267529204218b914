"""The Spark half of pykafka: a Kafka connector for PySpark without a jar."""
