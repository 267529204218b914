"""How long each call of a reader or writer may take by the documented options, with all retries.

The options are at their defaults here, or shorter.
"""

from __future__ import annotations

from typing import Final

from kafka_protocol.client.config.client import ClientConfig

_CONFIG: Final = ClientConfig()
# A call ends a little after its deadline: the last response, the next pause of an idle query.
_SLACK_MS: Final = 2_000

# One attempt, or on a running query attempts for so long and then a last one.
_PLANNING_MS: Final = 2 * _CONFIG.api_timeout_ms
# The topic to write to, and the rights. Then the claim: the topic of decisions, an own transaction,
# the log; then the last decision is carried out: committed, or looked for in the log; and noted,
# and what is left open is ended.
_CLAIM_MS: Final = 5 * _CONFIG.max_block_ms + 2 * _CONFIG.delivery_timeout_ms + 5_000
# Transactions are open; the decision; they are committed; that is noted; what is left is ended.
_COMMIT_MS: Final = 2 * _CONFIG.max_block_ms + 2 * _CONFIG.delivery_timeout_ms + 5_000
# Open transactions are rolled back, then those that nobody knows.
_ABORT_MS: Final = 2 * 5_000

_MOST_MS: Final = {
    "initialOffset": _PLANNING_MS,
    "latestOffset": 2 * _PLANNING_MS,  # PySpark 4.0: with the start of a new query
    "partitions": _PLANNING_MS,
    "streamWriter": _CLAIM_MS,
    "commit": _COMMIT_MS,
    "abort": _ABORT_MS,
}


def most_ms(call: str) -> float:
    """The longest time that a call may take."""
    return _MOST_MS.get(call, 0) + _SLACK_MS
