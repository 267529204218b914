"""Spark's own connector and pykafka, with the options that they are measured with.

Knows no Spark.
"""

from __future__ import annotations

from typing import Final

# Formats and their options. At the end of a log Spark's connector requests the log end offset
# after each Fetch, and that request waits for the next Fetch on the same connection, which takes
# `fetch.max.wait.ms`. The other options are for throughput.
CONNECTORS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "kafka": ("kafka", {}),
    "kafka, tuned": (
        "kafka",
        {
            "kafka.fetch.max.wait.ms": "1",
            "kafka.max.partition.fetch.bytes": "8388608",
            "kafka.max.poll.records": "20000",
            "kafka.receive.buffer.bytes": "4194304",
        },
    ),
    "pykafka": ("pykafka", {}),
}

# The name of each ratio, and the contender that others are compared with.
REFERENCES: Final = {"to_kafka": "kafka", "to_tuned": "kafka, tuned"}
WITH_CEILING: Final = REFERENCES | {"to_ceiling": "ceiling"}
