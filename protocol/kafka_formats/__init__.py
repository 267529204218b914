"""Payloads of records: bytes <-> Arrow columns, for Avro.

Knows numpy and Arrow. Spark, the wire, sockets and options never enter here.
"""
