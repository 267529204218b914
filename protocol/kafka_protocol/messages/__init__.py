"""Kafka's messages: one file per API, request and response together. Declarations, no logic.

A file reads like the protocol guide. Field names are Kafka's in snake_case; a comment says what a
version brought and names the KIP; above an `error_code` stands which errors can come and what
each means here. `schema` says how a declaration works, `codec` turns it into bytes. Nothing may
be imported here but `schema`.

Every declaration is compared, field by field and version by version, with the schemas inside the
`kafka-clients` jars (tests/protocol/messages/test_against_jar.py).
"""
