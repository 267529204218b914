"""Where Spark finds `format("pykafka")` by itself.

Spark imports every top-level module whose name begins with `pyspark_` and registers its
`DefaultSource`, so nobody needs to call `spark.dataSource.register`. Nothing else belongs here.
"""

from kafka_spark_source.source import KafkaDataSource as DefaultSource

__all__ = ["DefaultSource"]
