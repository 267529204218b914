"""The text of MERGE. `tests/change_data` runs it on tables of Delta and of Iceberg."""

from __future__ import annotations

from typing import Any

from kafka_spark_source.changes.arguments import HISTORY
from kafka_spark_source.changes.order import Change, is_newer, is_newer_by_values, of_row
from kafka_spark_source.changes.statement import Merge, latest_rows, versions

_DIFFERS = "NOT ((s.`name` <=> t.`name`) AND coalesce(t.`_tombstone`, false) = s.`_tombstone`)"
SAME = {"name": "s.`name` <=> t.`name`"}
OURS = Change("s.`_sequence`", "s.`_sequence`", "s.`_pykafka_place`")
THEIRS = of_row("t.`_sequence`", "t.`_sequence`")


def merge(**given: Any) -> Merge:
    usual: dict[str, Any] = {
        **{"target": "shop.orders", "source": "changes", "keys": ("id",)},
        **{
            "columns": ("id", "name"),
            "same": SAME,
            "others": (),
            "by_position": True,
            "topic_ids": (),
        },
        **{"texts": (), "with_position": False, "with_unavailable": False},
        **{"with_tombstones": True, "tombstones": True},
    }
    return Merge(**{**usual, **given})


def test_the_latest_rows() -> None:
    newer = is_newer(OURS, THEIRS, (), _DIFFERS)
    assert latest_rows(merge()).splitlines() == [
        "MERGE INTO shop.orders AS t",
        "USING `changes` AS s",
        "ON t.`id` = s.`id`",
        f"WHEN MATCHED AND ({newer}) THEN UPDATE SET t.`name` = s.`name`, "
        "t.`_sequence` = s.`_sequence`, t.`_tombstone` = s.`_tombstone`",
        "WHEN NOT MATCHED THEN INSERT (`id`, `name`, `_sequence`, `_tombstone`) VALUES "
        "(s.`id`, s.`name`, s.`_sequence`, s.`_tombstone`)",
    ]


def test_by_values_the_position_is_kept_with_the_row() -> None:
    lines = latest_rows(merge(by_position=False, with_position=True)).splitlines()
    ours = OURS._replace(position="s.`_position`")
    newer = is_newer_by_values(ours, of_row("t.`_sequence`", "t.`_position`"), (), _DIFFERS)
    assert lines[3].startswith(f"WHEN MATCHED AND ({newer}) THEN UPDATE SET ")
    assert "t.`_position` = s.`_position`" in lines[3]
    assert "`_position`" in lines[4]


def test_a_column_that_rows_lack_is_null_in_a_deleted_row_and_after_it() -> None:
    update = latest_rows(merge(others=("email",))).splitlines()[3]
    gone = "s.`_tombstone` OR t.`_tombstone`"
    assert f"t.`email` = CASE WHEN {gone} THEN NULL ELSE t.`email` END" in update


def test_without_tombstones_a_delete_removes_the_row_and_adds_none() -> None:
    lines = latest_rows(merge(tombstones=False, with_tombstones=False)).splitlines()
    assert lines[3].endswith("AND s.`_tombstone` THEN DELETE")
    assert lines[5].startswith("WHEN NOT MATCHED AND NOT s.`_tombstone` THEN INSERT")
    assert lines[5].endswith("(`id`, `name`, `_sequence`) VALUES (s.`id`, s.`name`, s.`_sequence`)")


def test_without_tombstones_a_row_of_an_old_one_is_none_any_more() -> None:
    lines = latest_rows(merge(tombstones=False)).splitlines()
    assert "t.`_tombstone` = s.`_tombstone`" in lines[4]


def test_the_order_of_topics_counts() -> None:
    condition = latest_rows(merge(topic_ids=("A", "B"))).splitlines()[3]
    newer = is_newer(OURS, THEIRS, ("A", "B"), _DIFFERS)
    assert condition.startswith(f"WHEN MATCHED AND ({newer}) THEN UPDATE SET ")


def test_a_value_that_was_not_sent_is_kept_and_never_inserted() -> None:
    updated, inserted = latest_rows(merge(with_unavailable=True)).splitlines()[3:]
    is_missing = "CASE WHEN coalesce(array_contains(s.`_unavailable`, 'name'), false) THEN"
    assert f"t.`name` = {is_missing} CASE WHEN array_contains(s.`_pykafka_lost`, " in updated
    assert "OR t.`_tombstone` THEN raise_error(" in updated
    assert "ELSE t.`name` END ELSE s.`name` END" in updated
    assert f"{is_missing} raise_error(" in inserted
    assert "'id'" not in inserted


def test_a_version_is_matched_by_key_sequence_and_position() -> None:
    lines = versions(merge(by_position=False, with_position=True), HISTORY).splitlines()
    assert lines[2] == (
        "ON t.`id` = s.`id` AND t.`_sequence` <=> s.`_sequence` AND t.`_position` <=> s.`_position`"
    )
    ends = "t.`valid_to` <=> s.`valid_to` AND t.`current` <=> s.`current`"
    assert lines[3] == (
        f"WHEN MATCHED AND (NOT ({ends}) OR {_DIFFERS}) THEN UPDATE SET "
        "t.`name` = s.`name`, t.`valid_to` = s.`valid_to`, t.`current` = s.`current`"
    )
    assert lines[4].startswith(
        "WHEN NOT MATCHED THEN INSERT (`id`, `name`, `_sequence`, `_position`, `_tombstone`, "
        "`valid_from`, `valid_to`, `current`) VALUES (s.`id`"
    )


def test_names_are_quoted() -> None:
    strange = merge(columns=("id", "a`b"), same={"a`b": "same"}, with_unavailable=True)
    text = latest_rows(strange)
    assert "array_contains(s.`_unavailable`, 'a`b')" in text
    assert "t.`a``b`" in text
