"""Kafka's messages: one file per API, request and response together. Declarations, no logic.

A file reads like the protocol guide. Field names are Kafka's in snake_case. Comments name the
change of a version and its KIP, and the possible errors of an `error_code` with their meaning.
`schema` has the declarations' syntax, `codec` encodes them. Only `schema` may be imported here.

Every declaration is compared, field by field and version by version, with the schemas inside the
`kafka-clients` jars (tests/protocol/messages/test_against_jar.py).
"""
