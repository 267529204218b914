"""The addresses of listeners. No I/O."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Address(NamedTuple):
    """The host and the port of a listener."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


# host:port, with an optional listener prefix as in the broker's own configuration.
_ADDRESS: Final = re.compile(
    r"(?:[A-Za-z_]+://)?(?:\[(?P<ipv6>[0-9A-Fa-f:.%]+)\]|(?P<host>[^\[\]\s:,/]+)):(?P<port>\d{1,5})"
)


def addresses(text: str) -> tuple[Address, ...]:
    """Read `host:port,host:port`; raises ValueError with the reason."""
    read = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        match = _ADDRESS.fullmatch(item)
        if match is None or not 0 < int(match["port"]) < 65536:
            raise ValueError(f"{item!r} is not host:port")
        read.append(Address(match["ipv6"] or match["host"], int(match["port"])))
    if not read:
        raise ValueError("it contains no host:port")
    return tuple(read)
