"""Kafka's wire protocol in pure Python. Must never import Spark."""
