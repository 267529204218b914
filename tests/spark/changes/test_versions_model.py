"""Versions of random histories of many keys, in two micro-batches, against a model in Python."""

from __future__ import annotations

import random
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from tests.spark.changes.test_rows import row
from tests.spark.changes.test_versions import SHOWN, versions

pytestmark = pytest.mark.spark

KEYS: Final = 60
LONGEST: Final = 6

Change = tuple[str, int, str, int]


def history(chance: random.Random, key: int, first: int) -> list[Change]:
    """Operation, key, name and offset of each change of a key; the offset is the time, too."""
    offsets = sorted(chance.sample(range(first, first + 50), chance.randrange(1, LONGEST)))
    operations = [chance.choice("cuud") for _ in offsets]
    return [
        (operation, key, "" if operation == "d" else chance.choice("abc"), offset)
        for operation, offset in zip(operations, offsets, strict=True)
    ]


def expected(changes: list[Change]) -> list[tuple[Any, ...]]:
    """Deleted ones have their keys and the time, and are never current."""
    ends = [*(each[3] for each in changes[1:]), None]
    return [
        (key, None if operation == "d" else name, offset, end, end is None and operation != "d")
        for (operation, key, name, offset), end in zip(changes, ends, strict=True)
    ]


def test_random_histories(spark: SparkSession) -> None:
    chance = random.Random(1)
    first = [history(chance, key, 0) for key in range(KEYS)]
    # Some keys have no change in the second one, some come late, and some come again.
    second = [history(chance, key, chance.choice([0, 60])) for key in range(KEYS // 2)]
    for key, changes in enumerate(second):
        taken = {each[3] for each in first[key]}
        second[key] = [each for each in changes if each[3] not in taken]
        second[key] += first[key][: chance.randrange(3)]
    applied = versions(spark, None, *(row(*each) for group in first for each in group))
    table = applied.localCheckpoint()
    new = [row(*each) for group in second for each in group]
    chance.shuffle(new)
    found = versions(spark, table, *new)
    wanted = [
        version
        for key, changes in enumerate(second)
        if changes
        for version in expected(sorted({*first[key], *changes}, key=lambda each: each[3]))
    ]
    rows = found.orderBy("id", "_sequence").selectExpr(*SHOWN).collect()
    assert [tuple(each) for each in rows] == wanted
    assert sum(each[4] for each in wanted) > 10 < sum(each[1] is None for each in wanted)
