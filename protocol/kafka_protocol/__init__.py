"""Kafka's wire protocol in pure Python. Knows nothing of Spark."""
