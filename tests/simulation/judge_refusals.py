"""Whether brokers refused what a right client never sends. Pure, as `judge`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_protocol.errors import ErrorCode
from tests.simulation.outcome import Outcome

# Errors of requests that are wrong by themselves, whatever happens to brokers and network.
WRONG: Final = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_TXN_STATE,
    }
)


def refusal_violations(outcome: Outcome) -> Iterator[str]:
    """What brokers refused, and the client could not repair."""
    for who, code, text in outcome.refused:
        if code in WRONG:
            yield f"{who} was refused: {text}"
