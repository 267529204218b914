"""Refused logins that pass: which ones, and when to connect again.

A refusal is final (KIP-152), with two exceptions that only their texts show:

* Amazon MSK limits how many connections with IAM a broker takes in a second, and says "Too many
  connects" (github.com/aws/aws-msk-iam-auth, issues 28 and 45; github.com/twmb/franz-go, issue
  109). All workers of Spark connect at the same time, so each pauses for a random time before it
  tries again, which doubles with each refusal. The pause is one for all threads of a process.
* Kafka's brokers allow no other principal when a session is renewed (KIP-368): "Cannot change
  principals during re-authentication". An assumed role has a new name in each session of AWS
  (github.com/aws/aws-msk-iam-auth, issue 104). A new connection may have another principal.
"""

from __future__ import annotations

import re
import threading
from typing import Final

from kafka_protocol.client.clock import Deadline, sleep_ms, uniform
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.wait_observer import waiting_for
from kafka_protocol.errors import AuthenticationError, BrokerConnectionError, KafkaError

_FIRST_PAUSE_MS: Final = 1_000
_LONGEST_PAUSE_MS: Final = 10_000


class TooManyConnectionsError(BrokerConnectionError):
    """A broker takes no more connections for now; another attempt may succeed."""


class OtherPrincipalError(AuthenticationError):
    """A renewed session has another principal, which only a new connection may have."""


# MSK takes IAM by both.
_MECHANISMS: Final = ("AWS_MSK_IAM", "OAUTHBEARER")
_PASSING: Final = (
    (re.compile(r"\btoo many connects\b", re.IGNORECASE), TooManyConnectionsError),
    (re.compile(r"\bcannot change principals\b", re.IGNORECASE), OtherPrincipalError),
)


def refused(message: str, mechanism: str) -> KafkaError:
    """The error for a refused login, by the broker's explanation.

    A password is never sent again, whatever the broker says.
    """
    is_of_aws = mechanism in _MECHANISMS
    kinds = (kind for pattern, kind in _PASSING if is_of_aws and pattern.search(message))
    kind: type[KafkaError] = next(kinds, AuthenticationError)
    return kind(f"the broker refused: {message or 'it gives no reason'}")


class _Pauses:
    """The pauses before the next connections to brokers that have refused some."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._refusals: dict[Address, tuple[int, Deadline]] = {}

    def begin(self, address: Address) -> None:
        """A broker has refused a connection because of their number."""
        with self._lock:
            count, until = self._refusals.get(address, (0, Deadline.after(0)))
            if not until.has_passed:  # another thread was refused at the same time
                return
            pause_ms = min(_FIRST_PAUSE_MS * 2**count, _LONGEST_PAUSE_MS)
            until = Deadline.after(uniform(pause_ms / 2, pause_ms))
            self._refusals[address] = min(count + 1, 10), until

    def end(self, address: Address) -> None:
        """A broker has taken a connection."""
        if self._refusals:
            with self._lock:
                self._refusals.pop(address, None)

    def wait(self, address: Address, deadline: Deadline) -> None:
        """Wait until a connection may be tried.

        Raises:
            TooManyConnectionsError: That is after the deadline.
        """
        if address not in self._refusals:
            return
        with self._lock:
            _, until = self._refusals.get(address, (0, Deadline.after(0)))
        left_ms = until.remaining_ms
        if left_ms > deadline.remaining_ms:
            raise TooManyConnectionsError(
                f"{address} has just refused a connection because of their number, and is not "
                f"tried for another {left_ms:.0f} ms"
            )
        with waiting_for(lambda: f"{address} (it takes no more connections for now)"):
            sleep_ms(left_ms)


pauses: Final = _Pauses()
