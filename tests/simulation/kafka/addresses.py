"""Where brokers listen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.simulation.kafka.settings import BrokerSettings

PORT: Final = 9092


def endpoints(kind: Any, nodes: Iterable[int], settings: BrokerSettings) -> list[Any]:
    """The addresses of nodes that a response names, as leaders (KIP-951) or all of them."""
    found = ((node, *settings.address_of(node)) for node in sorted(nodes))
    return [
        kind(node_id=node, host=host, port=port, rack=settings.racks.get(node))
        for node, host, port in found
    ]


def address_of(node: int) -> tuple[str, int]:
    """Host and port of a node."""
    return f"broker-{node}.sim", PORT
