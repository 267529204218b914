"""Clients of schema registries: Confluent's REST API (v7), as Apicurio also has it; and AWS Glue.

Only this room and `topic` do I/O in `kafka_formats`: over the transports of
`kafka_protocol.client`, and for AWS Glue over botocore.
Source: Confluent's "Schema Registry API Reference".
"""
