"""Kafka for PySpark without a jar: the Spark half."""
