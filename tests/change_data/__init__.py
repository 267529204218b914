"""Change data from a real database into real tables: `make demo-cdc`, and its parts for tests.

PostgreSQL -> Debezium on Kafka Connect -> a broker -> the stream of `examples/change_data.py` ->
tables of Delta.
"""
