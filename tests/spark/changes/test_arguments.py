"""The arguments of `apply_changes`: what is refused, by name, and the columns of the table."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.changes.arguments import (
    Arguments,
    ChangeError,
    parse,
    table_columns,
    usual_names,
)

_DEFAULTS: dict[str, Any] = {
    **{"sequence_by": None, "delete": None, "columns": None},
    **{"evolve": False, "history": False, "tombstones": True, "prefix": "", "topic_ids": None},
}
ENVELOPE = ["op", "ts_ms", "source", "key", "topic", "topicId", "partition", "_unavailable"]


def arguments(**given: Any) -> Arguments:
    return parse(**{"target": "shop.orders", "keys": ["id"], **_DEFAULTS, **given})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"target": " "}, "target must be a text"),
        ({"target": None}, "target must be a text"),
        ({"keys": []}, "keys must be a text or texts that are not empty"),
        ({"keys": ["id", ""]}, "keys must be a text or texts"),
        ({"keys": ["id", "ID"]}, "keys has a name twice: id, ID"),
        ({"sequence_by": []}, "sequence_by must be"),
        ({"delete": ""}, "delete must be"),
        ({"columns": "name"}, "columns must be a list of texts, not the text 'name'"),
        ({"columns": [1]}, "columns must be"),
        ({"topic_ids": "A"}, "topic_ids must be a list of texts, not the text 'A'"),
        ({"topic_ids": []}, "topic_ids must be"),
        ({"topic_ids": ["A", "A"]}, "topic_ids has a name twice"),
        ({"topic_ids": ["A"], "sequence_by": "lsn"}, "topic_ids is for the order by offsets, and"),
        ({"evolve": "yes"}, "evolve must be True or False"),
        ({"prefix": None}, "prefix must be a text"),
        ({"tombstones": None}, "tombstones must be True or False"),
        ({"history": True, "tombstones": False}, "tombstones=False is not possible with history"),
        ({"keys": ["_sequence"]}, "writes a column _sequence of its own"),
        ({"columns": ["Valid_From"], "history": True}, "writes a column Valid_From of its own"),
    ],
)
def test_a_wrong_argument_is_named(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(KafkaConfigError, match=reason):
        arguments(**given)


def test_the_expression_of_a_time_is_a_history() -> None:
    assert arguments().history is False
    given = arguments(history="changed_at")
    assert given.history
    assert given.time == "changed_at"


def test_one_key_may_be_a_text() -> None:
    assert arguments(keys="id").keys == ("id",)


def test_the_envelope_has_no_columns_of_the_table() -> None:
    rows = ["name", "id", *ENVELOPE]
    assert table_columns(arguments(), rows) == ("id", "name")


def test_with_a_prefix_the_table_may_have_such_columns() -> None:
    rows = ["id", "op", "offset", "__op", "__offset", "__timestampType", "_unavailable", "_error"]
    assert table_columns(arguments(prefix="__"), rows) == ("id", "op", "offset")


def test_the_case_of_names_of_the_envelope_does_not_matter() -> None:
    """A column that is left out as the record's key must be read as that, too."""
    rows = ["id", "OP", "Key", "BEFORE", "topicid", "_Unavailable", "Name", "source", "SOURCE"]
    usual = {"OP": "op", "BEFORE": "before", "topicid": "topicId", "_Unavailable": "_unavailable"}
    assert usual_names(arguments(), rows) == {**usual, "Key": "key"}
    assert usual_names(arguments(keys=["KEY"], columns=["before"]), rows[:4]) == {"OP": "op"}
    assert usual_names(arguments(prefix="__"), ["__OP", "OP", "_RAW"]) == {
        "__OP": "__op",
        "_RAW": "_raw",
    }


def test_a_key_is_a_column_whatever_its_name() -> None:
    rows = ["key", "value", "op", "topic", "partition", "offset"]
    assert table_columns(arguments(keys="key"), rows) == ("key", "value")


def test_chosen_columns_have_the_spelling_of_the_rows() -> None:
    rows = ["Id", "Name", "secret", *ENVELOPE]
    assert table_columns(arguments(columns=["name", "ts_ms"]), rows) == ("Id", "Name", "ts_ms")


@pytest.mark.parametrize("given", [{"keys": ["idd"]}, {"columns": ["idd"]}])
def test_a_column_that_rows_lack_is_named(given: dict[str, Any]) -> None:
    with pytest.raises(ChangeError, match="have no column idd, only id, name; did you mean 'id'"):
        table_columns(arguments(**given), ["id", "name"])


def test_a_column_of_rows_may_not_have_the_name_of_one_that_is_written() -> None:
    with pytest.raises(KafkaConfigError, match="withColumnRenamed"):
        table_columns(arguments(), ["id", "_tombstone"])
    assert table_columns(arguments(tombstones=False), ["id", "_tombstone"]) == ("id", "_tombstone")
