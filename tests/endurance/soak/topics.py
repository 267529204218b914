"""The topics of the soak test, shared by the job and those who check it."""

from __future__ import annotations

from typing import Final

from tests.admin import Admin

PARTITIONS: Final = 3
SOURCE: Final = "soak-source"
STREAMED: Final = "soak-streamed"
COPIED: Final = "soak-copied"
WRITTEN: Final = "soak-written"
_ALL: Final = (SOURCE, STREAMED, COPIED, WRITTEN)

# Rows that each batch job writes.
JOB_ROWS: Final = 100


def job_values(job: int) -> list[str]:
    """The values that a batch job writes."""
    return [f"job-{job}-{row}" for row in range(JOB_ROWS)]


def create_all(servers: str) -> None:
    """Creates the topics, and returns when they exist."""
    admin = Admin(servers, replicas=1)
    for topic in _ALL:
        admin.create(topic, PARTITIONS, {})
