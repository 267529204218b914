"""Why a record is in a topic of dead letters, as its headers say (KIP-298). Pure.

`kafka_spark_source.reading.dead_letters` writes such headers, and so does Kafka Connect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafka_spark_source.reading.dead_letters import HEADER_PREFIX


class DeadLetter(NamedTuple):
    """Where a record was, and why it is here; a text is empty where no header says it."""

    topic: str
    partition: str
    offset: str
    stage: str
    reason: str


def dead_letter_of(headers: Sequence[tuple[str, bytes | None]]) -> DeadLetter | None:
    """What the headers of a record say; None if it is not a dead letter.

    The last of several headers with a name counts: a record may become one more than once.
    """
    said = {name.removeprefix(HEADER_PREFIX): value for name, value in headers if _is_own(name)}
    if not said:
        return None
    names = ("topic", "partition", "offset", "stage", "exception.message")
    return DeadLetter(*((said.get(name) or b"").decode("utf-8", "replace") for name in names))


def other_headers(
    headers: Sequence[tuple[str, bytes | None]],
) -> Sequence[tuple[str, bytes | None]]:
    """The headers that the record had before."""
    return [each for each in headers if not _is_own(each[0])]


def _is_own(name: str) -> bool:
    return name.startswith(HEADER_PREFIX)
