"""How many Fetches of a range are in flight at once. Pure.

A near broker needs one beside the response that is decoded. From a far one nothing would come for a
round trip after each response: the next offset is known only then. So further Fetches are sent
before, each from an offset that the one before it probably reaches, by the sizes of batches so far.
What both have is skipped. Where the one before ends too early, the records between them would be
missing: the response is dropped, and the Fetch sent again from the offset that is reached.
"""

from __future__ import annotations

from typing import Final

# A Fetch too many transfers some records twice, which costs more than a short way.
_FAR_MS: Final = 20
# With the responses' default size enough for 80 MB/s at 200 ms.
_IN_FLIGHT: Final = 3


class FetchAhead:
    """How many Fetches may be in flight: fewer, for a while, after one that was sent in vain."""

    def __init__(self) -> None:
        self._misses = 0
        self._pause = 0

    def __repr__(self) -> str:
        return f"<FetchAhead: {self._misses} in vain>"

    def in_flight(self, round_trip_ms: float) -> int:
        """How many, for a broker whose responses take so long, after a response was taken."""
        if self._pause:
            self._pause -= 1
            return 1
        return _IN_FLIGHT if round_trip_ms >= _FAR_MS else 1

    def miss(self) -> None:
        """Note that one was in vain: after the nth, the next 2**n responses are waited for."""
        self._misses += 1
        self._pause = 2 ** min(self._misses, 10)
