"""Spark's Python workers: their settings, our lines in their logs, errors without a stack.

Knows no Kafka, and no query.
"""
