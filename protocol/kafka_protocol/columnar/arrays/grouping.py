"""Groups rows by a number and keeps their order: one stable sort, if needed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

RowNumbers: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[np.integer[Any]]

_RADIX_SORTED = 2**16  # below this, numpy's stable sort takes linear time


class Groups(NamedTuple):
    """The indices of rows, grouped by the number that each row has."""

    order: RowNumbers  # the row indices, group by group
    numbers: list[int]  # of each group
    starts: list[int]  # of each group in `order`, and at the end the number of rows

    def rows(self) -> Iterator[tuple[int, RowNumbers]]:
        """Each number with its row indices, ascending."""
        for number, (start, stop) in zip(self.numbers, pairwise(self.starts), strict=True):
            yield number, self.order[start:stop]


def grouped(numbers: Numbers) -> Groups:
    """Group rows by their numbers, which are not negative."""
    starts = _starts(numbers)
    if _has_no_repeats(numbers[starts]):
        return _groups(np.arange(len(numbers)), numbers, starts)
    order = stable_order(numbers)
    numbers = numbers[order]
    return _groups(order, numbers, _starts(numbers))


def stable_order(numbers: Numbers) -> RowNumbers:
    """The row indices sorted by their numbers, which are not negative; the sort is stable."""
    if len(numbers) and numbers.max() < _RADIX_SORTED:
        numbers = numbers.astype(np.uint16)
    return np.argsort(numbers, kind="stable")


def _starts(numbers: Numbers) -> RowNumbers:
    """The start of each run of equal numbers."""
    changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    return np.concatenate(([0], changes)) if len(numbers) else changes


def _has_no_repeats(numbers: Numbers) -> bool:
    if len(numbers) < 2:
        return True
    # In most cases this is enough and saves a sort.
    if len(numbers) > int(numbers.max()) + 1:
        return False
    return len(np.unique(numbers)) == len(numbers)


def _groups(order: RowNumbers, numbers: Numbers, starts: RowNumbers) -> Groups:
    return Groups(order, numbers[starts].tolist(), [*starts.tolist(), len(numbers)])
