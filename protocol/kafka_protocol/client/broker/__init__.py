"""One broker: its connection, its API versions, authentication, and requests with responses.

Knows nothing of other brokers; those are the work of `cluster`.
"""
