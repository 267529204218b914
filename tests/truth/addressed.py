"""Whether records are only where somebody sent them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping


def longer(found: Mapping[str, int], wanted: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """The topics that are longer than wanted: how long they should be, and are."""
    return {
        topic: (length, found[topic])
        for topic, length in wanted.items()
        if found.get(topic, 0) > length
    }


def invented(found: Iterable[Hashable], sent: Collection[Hashable]) -> list[Hashable]:
    """The records with place and contents that nobody has sent, each once."""
    return sorted({*found} - {*sent}, key=repr)
