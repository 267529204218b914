"""The question after a name that is not known: which name was meant."""

from __future__ import annotations

import difflib
from collections.abc import Mapping


def did_you_mean(
    name: str,
    known: Mapping[str, str],
    *,
    before: str = "",
    otherwise: str = "",
    cutoff: float = 0.6,
) -> str:
    """`did you mean 'startingOffsets'?`, with the nearest of the known names.

    Args:
        name: As it was given.
        known: A name to compare `name` with -> how it is shown.
        before: The text before the question.
        otherwise: The text where no name is near.
        cutoff: How alike names are at least: 0 for not at all, 1 for the same.
    """
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
    return f"{before}did you mean '{known[nearest[0]]}'?" if nearest else otherwise
