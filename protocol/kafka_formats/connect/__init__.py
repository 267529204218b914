"""Kafka Connect's types: what its schemas say beyond a type, and Spark's types for them.

`semantics` has the names that schemas give to types, `types` the table of what they are here, and
`plan` how payloads of one schema are read as a query wants. What Avro, JSON and Protobuf say of
Connect's types is read in their rooms. No format, no registry and no Debezium here.
"""
