"""The errors of the local broker and schema registry. Every message says how to fix it.

Only this package raises them; `kafka_protocol` has its own errors, for any broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class LocalBrokerError(Exception):
    """The base of all errors of the local broker and schema registry."""


class JavaError(LocalBrokerError):
    """No Java is installed, or it is too old."""


class JarError(LocalBrokerError):
    """A jar or archive cannot be downloaded, or differs from the lock file."""


class StartError(LocalBrokerError):
    """A process ended, or was not ready in time.

    Attributes:
        log_tail: The last lines of the process's log, oldest first, and its first error.
    """

    def __init__(self, what: str, log_tail: Sequence[str]) -> None:
        self.log_tail = tuple(log_tail)
        tail = "\n".join(f"    {line}" for line in self.log_tail) or "    (the log is empty)"
        super().__init__(f"{what}. The end of its log:\n{tail}")


class BrokerStartError(StartError):
    """A process of the cluster ended, or was not ready in time."""


class RegistryStartError(StartError):
    """The schema registry ended, or was not ready in time."""
