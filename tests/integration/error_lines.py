"""What a user sees first of an error of Spark."""

from __future__ import annotations

from pyspark.errors import PySparkException


def first_line(error: PySparkException) -> str:
    """The first line of our error text, without the line that Spark puts before it."""
    lines = str(error).strip().splitlines()
    is_task = lines[0].startswith("An exception was thrown from the Python worker")
    return lines[1] if is_task else lines[0]
