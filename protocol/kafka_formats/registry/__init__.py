"""A client of schema registries: Confluent's REST API (v7), as Apicurio also has it.

The only room of `kafka_formats` that does I/O, over the transports of `kafka_protocol.client`.
Source: Confluent's "Schema Registry API Reference".
"""
