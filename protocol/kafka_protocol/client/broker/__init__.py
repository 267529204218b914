"""One broker: its connection, its API versions, authentication, and requests with responses.

Knows nothing of other brokers: they are the work of `cluster`.
"""
