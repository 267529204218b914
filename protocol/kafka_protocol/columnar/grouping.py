"""Rows gathered by a number, in their order: one stable sort, and none where it is not needed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

RowNumbers: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[np.integer[Any]]

_RADIX_SORTED = 2**16  # numpy's stable sort of numbers below this takes a step for each, no more


class Groups(NamedTuple):
    """Where the rows of each number are.

    Attributes:
        order: The rows in the order that gathers them.
        numbers: Each number that there is, once.
        starts: Where the rows of each begin, once gathered; at the end, how many rows there are.
    """

    order: RowNumbers
    numbers: list[int]
    starts: list[int]

    def rows(self) -> Iterator[tuple[int, RowNumbers]]:
        """Each number with its rows, in their order."""
        for number, (start, stop) in zip(self.numbers, pairwise(self.starts), strict=True):
            yield number, self.order[start:stop]


def grouped(numbers: Numbers) -> Groups:
    """Gather rows by their numbers, which are not negative."""
    starts = _starts(numbers)
    if _each_once(numbers[starts]):
        return _groups(np.arange(len(numbers)), numbers, starts)
    order = stable_order(numbers)
    numbers = numbers[order]
    return _groups(order, numbers, _starts(numbers))


def stable_order(numbers: Numbers) -> RowNumbers:
    """The rows by their numbers, which are not negative; where these are the same as they stand."""
    if len(numbers) and numbers.max() < _RADIX_SORTED:
        numbers = numbers.astype(np.uint16)
    return np.argsort(numbers, kind="stable")


def _starts(numbers: Numbers) -> RowNumbers:
    """Where another number begins."""
    changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    return np.concatenate(([0], changes)) if len(numbers) else changes


def _each_once(numbers: Numbers) -> bool:
    if len(numbers) < 2:
        return True
    # Most often this is enough, and spares a sort.
    if len(numbers) > int(numbers.max()) + 1:
        return False
    return len(np.unique(numbers)) == len(numbers)


def _groups(order: RowNumbers, numbers: Numbers, starts: RowNumbers) -> Groups:
    return Groups(order, numbers[starts].tolist(), [*starts.tolist(), len(numbers)])
