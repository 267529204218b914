"""Payloads of records: bytes <-> Arrow columns, for Avro, JSON and Protobuf; schemas in a registry.

Knows numpy and Arrow. Spark never enters here; sockets are used in `registry` and `topic` only,
through `kafka_protocol.client`.
"""
