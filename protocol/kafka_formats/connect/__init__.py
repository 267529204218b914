"""Kafka Connect's types: what its schemas say beyond a type, and Spark's types for them.

`semantics` has the names that schemas give to types, `types` the table of their Spark types, and
`plan` how payloads of one schema are read as a query wants. The packages of Avro, JSON and Protobuf
read Connect's types from schemas. No format, no registry and no Debezium here.
"""
