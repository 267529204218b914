"""Where brokers listen."""

from __future__ import annotations

from typing import Final

PORT: Final = 9092


def address_of(node: int) -> tuple[str, int]:
    """Host and port of a node."""
    return f"broker-{node}.sim", PORT
