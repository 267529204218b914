"""Payloads of records: bytes <-> Arrow columns, for Avro; and their schemas in a registry.

Knows numpy and Arrow. Spark and the wire never enter here; sockets and options only in `registry`.
"""
