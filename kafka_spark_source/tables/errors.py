"""The error of a table. Nothing else."""

from __future__ import annotations

from kafka_protocol.errors import KafkaError


class TableError(KafkaError, ValueError):
    """A topic's records cannot become rows of its table. Nothing of them was written to it."""
