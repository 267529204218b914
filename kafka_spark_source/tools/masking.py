"""The options of a client without their secrets, to show to others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_SET: Final = "(set)"

# Other options show only that they are set, so new secrets stay hidden.
_SHOWN: Final = frozenset(
    {
        "bootstrap.servers",
        "client.id",
        "client.rack",
        "compression.type",
        "group.id",
        "isolation.level",
        "request.timeout.ms",
        "sasl.mechanism",
        "security.protocol",
        "ssl.endpoint.identification.algorithm",
        "socket.connection.setup.timeout.ms",
    }
)


def masked(options: Mapping[str, str]) -> dict[str, str]:
    """The values of options that are not secrets, by name without "kafka."; "(set)" for others."""
    return {
        name: value if name.lower() in _SHOWN else _SET for name, value in sorted(options.items())
    }
