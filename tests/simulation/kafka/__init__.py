"""Simulated brokers: replicated logs, elections and transactions, in virtual time.

`tests.fakes.cluster` puts sockets in front of them, in the time of the process.
"""
