"""`make demo-tables` and the example that it runs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.change_data.jars import find
from tests.change_data.lake import FORMATS, NEWEST
from tests.change_data.shop_demo import EXAMPLE, last_screen
from tests.change_data.shop_tables import Tables, differences, expected
from tests.change_data.shop_writers import (
    FIRST,
    KINDS,
    LATE,
    TOPICS,
    Written,
    arguments_of,
)
from tests.own_process import run_command

WHOLE = (
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.parametrize("provider", NEWEST),
)
COMMITS = {
    "delta": ("tables/shop_json_0/_delta_log/00.json", "tables/shop_json_1/_delta_log/00.json"),
    "iceberg": (
        "tables/shop/shop_json_0/metadata/v1.metadata.json",
        "tables/shop/shop_json_1/metadata/v1.metadata.json",
    ),
}
OTHER_FILES = (
    "checkpoint/commits/0",
    "checkpoint/commits/.0.crc",
    "tables/shop_json_0/_delta_log/00.crc",
    "tables/shop_json_0/part-0.parquet",
    "tables/shop/shop_json_0/metadata/version-hint.text",
    "tables/shop/shop_json_0/metadata/snap-1.avro",
)
SCREEN = "┏━━━┓\n┃ a ┃\n┡━━━┩\n│ 1 │\n└───┘"


def whole(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test of the whole: for each provider, on the newest PySpark that has its jars."""
    for mark in WHOLE:
        test = mark(test)
    return test


@pytest.mark.core
def test_there_are_twenty_topics() -> None:
    counts = Counter(TOPICS.values())
    assert counts == {"avro": 5, "protobuf": 4, "json": 4, "cache": 4, "types": 1, "changes": 2}
    assert counts.total() == 20
    assert {*TOPICS} - {*FIRST, *LATE} == {"shop.public.customers", "shop.public.products"}


@pytest.mark.core
def test_the_arguments_of_a_topic() -> None:
    topics = {"shop.json.0": "json", "shop.public.customers": "changes"}
    arguments = arguments_of(topics, "http://registry")
    assert arguments["shop.json.0"] == {"rows": "append", "options": KINDS["json"].options}
    assert arguments["shop.public.customers"] == {
        "rows": "changes",
        "options": {
            "schema.registry.url": "http://registry",
            "value.format": "avro",
            "key.format": "avro",
        },
    }


@pytest.mark.core
@pytest.mark.parametrize("provider", COMMITS)
def test_commits_of_tables(provider: str, tmp_path: Path) -> None:
    for each in (*COMMITS["delta"], *COMMITS["iceberg"], *OTHER_FILES):
        file = tmp_path / each
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    tables = Tables(provider, tmp_path)
    assert (tables.commits(), tables.commits("shop.json.1"), tables.commits("shop.avro.0")) == (
        *(2, 1, 0),
    )
    assert tables.micro_batches() == 1


@pytest.mark.core
def test_rows_that_a_table_has_to_have() -> None:
    a, b = {"id": 1, "name": "a"}, {"id": 1, "name": "b", "note": "n", "size": 0.5}
    written: Written = {(0, 1): ("1", b), (0, 0): ("1", a), (1, 0): ("2", a), (1, 1): ("2", None)}
    assert expected("shop.cache.0", written) == {(1, "b", "n", 0.5)}
    assert expected("shop.avro.0", written) == {
        (0, 0, 1, "a", None, None),
        (0, 1, 1, "b", "n", 0.5),
        (1, 0, 1, "a", None, None),
    }
    assert expected("shop.types.0", {(0, 0): ("1", {"id": 1, "name": "Order"})}) == {
        (0, 0, "shop.Order", 1)
    }


@pytest.mark.core
@pytest.mark.parametrize(
    ("rows", "count"), [([1, 2], 0), ([2], 1), ([1, 2, 2], 1), ([1, 2, 3], 1), ([1, 3, 3], 3)]
)
def test_rows_that_differ(rows: list[int], count: int) -> None:
    assert differences(rows, {1, 2}) == count


@pytest.mark.core
@pytest.mark.parametrize(
    ("log", "shown"),
    [
        (f"started\n{SCREEN}\n{SCREEN.replace('1', '2')}\n", SCREEN.replace("1", "2")),
        (f"{SCREEN}\n┏━━━┓\n┃ a", SCREEN),
        (SCREEN, SCREEN),
        ("started\n┏━━━┓\n", ""),
        ("", ""),
    ],
)
def test_the_last_screen(log: str, shown: str) -> None:
    assert last_screen(log) == shown


@whole
def test_the_example_without_brokers(provider: str, tmp_path: Path) -> None:
    jars = str(find(FORMATS[provider]))
    command = [sys.executable, str(EXAMPLE), "--provider", provider, "--jars", jars]
    shown = run_command(tmp_path, command)
    assert "shop.customers │ written" in shown
    assert "name 2" in shown


@whole
def test_the_demo(provider: str, tmp_path: Path) -> None:
    """With half of its records."""
    command = [sys.executable, "-m", "tests.change_data.shop_demo", "--provider", provider]
    shown = run_command(tmp_path, [*command, "--seconds", "20"])
    assert "Each table is equal to its topic; everything is stopped again." in shown
    assert "After 5 kills" in shown
