"""Functions for columns of Avro and Protobuf payloads, in any DataFrame.

    from kafka_spark_source.functions import from_avro

    df.select(from_avro("value", subject="orders-value", schemaRegistryAddress="http://..."))

Names and arguments are as on Databricks. For rows of `format("pykafka")`, its option `value.format`
does the same with less work. `pandas_udfs` has the functions for PySpark 4.0. Nothing here reads
Kafka.
"""

from __future__ import annotations

from kafka_spark_source.functions.arrow_udfs import from_avro, from_protobuf, to_avro, to_protobuf

__all__ = ["from_avro", "from_protobuf", "to_avro", "to_protobuf"]
