"""Simulated brokers: replicated logs, elections and transactions, in virtual time."""
