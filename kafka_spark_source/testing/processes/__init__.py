"""Processes that end with this one: a supervisor owns them, their ports and their folders.

Knows no Kafka.
"""
