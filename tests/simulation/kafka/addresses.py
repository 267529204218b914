"""Where brokers listen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

PORT: Final = 9092


def endpoints(kind: Any, nodes: Iterable[int], racks: Mapping[int, str]) -> list[Any]:
    """The addresses of leaders that a response names (KIP-951)."""
    return [
        kind(node_id=node, host=address_of(node)[0], port=PORT, rack=racks.get(node))
        for node in sorted(nodes)
    ]


def address_of(node: int) -> tuple[str, int]:
    """Host and port of a node."""
    return f"broker-{node}.sim", PORT
