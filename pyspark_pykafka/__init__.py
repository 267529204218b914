"""Registers `format("pykafka")` with Spark. Nothing else belongs here.

Spark imports every top-level module whose name begins with `pyspark_` and registers its
`DefaultSource`, so users need not call `spark.dataSource.register`.
"""

from kafka_spark_source.source import KafkaDataSource as DefaultSource

__all__ = ["DefaultSource"]
