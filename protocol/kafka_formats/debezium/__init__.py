"""Changes of a database that Debezium wrote -> rows, from the query to the batch.

`query` is the way in. `decoders` and `events` make columns of envelopes, `rows` makes rows of these
and of keys. Applying rows to a table is `kafka_spark_source.changes`.
"""
