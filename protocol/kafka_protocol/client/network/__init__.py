"""Sends bytes to an address and receives them, with deadlines: TCP, TLS and HTTP.

The only room that imports `socket`, `ssl` or `selectors`. Knows nothing of Kafka's protocol.
"""
