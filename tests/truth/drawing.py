"""Draws options from tables. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence

Table = Sequence[tuple[float, str, Sequence[str]]]
"""Rows with the share of queries that have an option, its name, and its values."""


def draw_options(chance: random.Random, *tables: Table) -> dict[str, str]:
    """Some of the options, each with one of its values."""
    return {
        name: chance.choice(values)
        for table in tables
        for share, name, values in table
        if chance.random() < share
    }
