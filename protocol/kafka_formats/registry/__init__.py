"""Schema registries with Confluent's API: their options, requests, and schemas.

The only room of formats that opens connections, through those of the Kafka client.
"""
