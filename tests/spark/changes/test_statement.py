"""The text of MERGE. `tests/change_data` runs it on tables of Delta and of Iceberg."""

from __future__ import annotations

from typing import Any

from kafka_spark_source.changes.arguments import HISTORY
from kafka_spark_source.changes.order import is_newer
from kafka_spark_source.changes.statement import Merge, latest_rows, versions

SIMPLE = """\
MERGE INTO shop.orders AS t
USING `changes` AS s
ON t.`id` = s.`id`
WHEN MATCHED AND (t.`_sequence` IS NULL OR s.`_sequence` > t.`_sequence`) THEN UPDATE SET \
t.`name` = s.`name`, t.`_sequence` = s.`_sequence`, t.`_tombstone` = s.`_tombstone`
WHEN NOT MATCHED THEN INSERT (`id`, `name`, `_sequence`, `_tombstone`) VALUES \
(s.`id`, s.`name`, s.`_sequence`, s.`_tombstone`)"""


def merge(**given: Any) -> Merge:
    usual: dict[str, Any] = {
        **{"target": "shop.orders", "source": "changes", "keys": ("id",)},
        **{"columns": ("id", "name"), "by_position": False, "topic_ids": ()},
        **{"with_unavailable": False, "tombstones": True},
    }
    return Merge(**{**usual, **given})


def test_the_latest_rows() -> None:
    assert latest_rows(merge()) == SIMPLE


def test_without_tombstones_a_delete_removes_the_row_and_adds_none() -> None:
    lines = latest_rows(merge(tombstones=False)).splitlines()
    assert lines[3].endswith("AND s.`_tombstone` THEN DELETE")
    assert lines[5].startswith("WHEN NOT MATCHED AND NOT s.`_tombstone` THEN INSERT")
    assert lines[5].endswith("(`id`, `name`, `_sequence`) VALUES (s.`id`, s.`name`, s.`_sequence`)")


def test_a_change_is_newer_by_its_sequence_or_by_its_position() -> None:
    condition = latest_rows(merge(by_position=True, topic_ids=("A", "B"))).splitlines()[3]
    newer = is_newer("s.`_sequence`", "t.`_sequence`", ("A", "B"), "s.`_pykafka_place`")
    assert condition.startswith(f"WHEN MATCHED AND ({newer}) THEN UPDATE SET ")


def test_a_value_that_was_not_sent_is_kept_and_never_inserted() -> None:
    updated, inserted = latest_rows(merge(with_unavailable=True)).splitlines()[3:]
    is_missing = "CASE WHEN array_contains(s.`_unavailable`, 'name') THEN"
    assert f"t.`name` = {is_missing} CASE WHEN t.`_tombstone` THEN raise_error(" in updated
    assert "ELSE t.`name` END ELSE s.`name` END" in updated
    assert f"{is_missing} raise_error(" in inserted
    assert "'id'" not in inserted


def test_a_version_is_matched_by_key_and_sequence() -> None:
    lines = versions(merge(), HISTORY).splitlines()
    assert lines[2] == "ON t.`id` = s.`id` AND t.`_sequence` <=> s.`_sequence`"
    assert lines[3] == (
        "WHEN MATCHED AND NOT (t.`valid_to` <=> s.`valid_to` AND t.`current` <=> s.`current`) "
        "THEN UPDATE SET t.`valid_to` = s.`valid_to`, t.`current` = s.`current`"
    )
    assert lines[4].startswith(
        "WHEN NOT MATCHED THEN INSERT (`id`, `name`, `_sequence`, `_tombstone`, `valid_from`, "
        "`valid_to`, `current`) VALUES (s.`id`"
    )


def test_names_are_quoted() -> None:
    strange = merge(columns=("id", "a`b"), with_unavailable=True)
    assert "array_contains(s.`_unavailable`, 'a`b')" in latest_rows(strange)
