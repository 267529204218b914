"""Whether a read tells of the records that were deleted before it had them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def unreported(
    partition: str, lost: int, reports: Iterable[str], *, may_go_on: bool
) -> Iterator[str]:
    """What a read passed over without the word that it owes.

    Args:
        partition: As reports name it.
        lost: How many records it passed over, as they were deleted unread.
        reports: What it logged, and what ended it.
        may_go_on: failOnDataLoss=false: then it must log the loss, else it must not pass over it.
    """
    if lost and not may_go_on:
        yield f"{partition}: {lost} records were deleted unread, and failOnDataLoss did not stop"
    elif lost and not any(partition in each for each in reports):
        yield f"{partition}: {lost} records were deleted unread, and nothing was logged"


def false_alarms(alarms: Iterable[str], *, may_lose: bool) -> Iterator[str]:
    """Reports of losses where no record can be lost."""
    if not may_lose:
        yield from (f"nothing is lost, and the query ended: {each}" for each in alarms)
