"""The arguments of `topics_to_tables`: what is refused, by name, and what they say of a topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.tables.arguments import (
    DEFAULT_METADATA,
    Arguments,
    OnError,
    Rows,
    by_lower_name,
    parse,
)
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.names import of_topic
from kafka_spark_source.tables.rows import METADATA, PREFIX

SECRET = "hush-hush"
OPTIONS = {"kafka.bootstrap.servers": "localhost:9092", "subscribePattern": "shop.*"}
_DEFAULTS: dict[str, Any] = {
    **{"options": OPTIONS, "table": "lake.{topic}", "provider": "delta", "rows": "append"},
    **{"keys": None, "topic_options": None, "metadata": DEFAULT_METADATA, "partition_by": ()},
    **{"cluster_by": (), "properties": {}, "on_error": "fail", "threads": 4},
    "merge_options": None,
}


def arguments(**given: Any) -> Arguments:
    return parse(**{**_DEFAULTS, **given})


def fails(_topic: str) -> Any:
    raise LookupError("no such topic")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"options": [("a", "b")]}, "options must be a mapping"),
        ({"options": None}, "options must be a mapping"),
        ({"table": "lake.orders"}, r"table .*\{topic\}"),
        ({"table": None}, "table must be"),
        ({"provider": "parquet"}, "provider must be one of delta, iceberg, not 'parquet'"),
        ({"provider": "Delta"}, "provider must be"),
        ({"provider": None}, "provider must be"),
        ({"rows": "appends"}, "rows must be one of append, upsert, changes.*'append'"),
        ({"rows": ""}, "rows must be one of"),
        ({"metadata": "_kafka_topic"}, "metadata must be a list.*'_kafka_topic'"),
        ({"metadata": ["_kafka_ofset"]}, "metadata has no column '_kafka_ofset'"),
        ({"metadata": ["_kafka_topic", "topic"]}, "metadata has no column 'topic'"),
        ({"partition_by": "day"}, "partition_by must be a list.*'day'"),
        ({"on_error": "skip"}, "on_error must be one of fail, suspend, not 'skip'"),
        ({"on_error": "suspended"}, "on_error .*did you mean 'suspend'"),
        ({"on_error": None}, "on_error must be one of"),
        ({"threads": 0}, "threads must be 1 to 64, not 0"),
        ({"threads": 65}, "threads must be"),
        ({"threads": -1}, "threads must be"),
        ({"threads": True}, "threads must be"),
        ({"threads": "4"}, "threads must be"),
        ({"threads": 2.0}, "threads must be"),
    ],
)
def test_a_wrong_argument_is_named(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(KafkaConfigError, match=reason):
        arguments(**given)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("cluster_by", "id"),
        ("cluster_by", None),
        ("metadata", None),
        ("metadata", [5]),
        ("metadata", [["_kafka_topic"]]),
        ("partition_by", None),
        ("partition_by", [5]),
        ("properties", None),
        ("properties", "a=b"),
        ("options", {5: "a"}),
        ("rows", None),
    ],
)
def test_an_argument_of_a_wrong_type_is_named(name: str, given: Any) -> None:
    with pytest.raises(KafkaConfigError, match=name):
        arguments(**{name: given})


def test_a_column_of_metadata_is_proposed() -> None:
    with pytest.raises(KafkaConfigError, match="did you mean '_kafka_offset'"):
        arguments(metadata=["_kafka_ofset"])


def test_arguments_are_kept() -> None:
    given = arguments(
        **{"provider": "iceberg", "metadata": ["_kafka_key"], "partition_by": ["days(at)"]},
        **{"cluster_by": ["id"], "properties": {"a": "b"}, "on_error": "suspend", "threads": 64},
    )
    assert given.layout.provider == "iceberg"
    assert given.layout.partition_by == ("days(at)",)
    assert given.layout.cluster_by == ("id",)
    assert given.layout.properties == {"a": "b"}
    assert given.metadata == ("_kafka_key",)
    assert (given.on_error, given.threads) == (OnError.SUSPEND, 64)
    assert given.table_of.name("orders") == "lake.orders"


def test_all_columns_of_metadata_can_be_had() -> None:
    assert arguments(metadata=[*METADATA]).metadata == tuple(METADATA)
    assert arguments(metadata=[]).metadata == ()
    assert {*DEFAULT_METADATA} <= {*METADATA}


def test_what_is_changed_later_changes_nothing() -> None:
    options, properties, metadata = {"a": "b"}, {"c": "d"}, ["_kafka_key"]
    given = arguments(options=options, properties=properties, metadata=metadata)
    options["a"] = properties["c"] = "e"
    metadata.append("_kafka_topic")
    assert given.options == {"a": "b"}
    assert given.layout.properties == {"c": "d"}
    assert given.metadata == ("_kafka_key",)


def test_options_have_names_in_lower_case_and_texts() -> None:
    options = {"Value.Format": "json", "includeHeaders": True, "minPartitions": 5, "x": False}
    assert by_lower_name(options) == {
        **{"value.format": "json", "includeheaders": "true", "minpartitions": "5", "x": "false"},
    }
    assert arguments(options=options).options == by_lower_name(options)


def one_for_all(value: object) -> object:
    return value


def a_mapping(value: object) -> object:
    return {"other": "never", "t": value}


def a_function(value: object) -> Callable[[str], object]:
    return lambda topic: value if topic == "t" else "never"


FORMS = pytest.mark.parametrize("form", [one_for_all, a_mapping, a_function])


@FORMS
@pytest.mark.parametrize("rows", Rows)
def test_what_records_are(form: Callable[[object], object], rows: Rows) -> None:
    assert arguments(rows=form(rows.value)).rows_of("t") is rows


@FORMS
@pytest.mark.parametrize(
    ("keys", "columns"),
    [(["id"], ("id",)), (("id", "part"), ("id", "part")), (None, None)],
)
def test_the_columns_of_keys(
    form: Callable[[object], object], keys: object, columns: tuple[str, ...] | None
) -> None:
    assert arguments(keys=form(keys)).keys_of("t") == columns


@pytest.mark.parametrize("form", [a_mapping, a_function])
def test_one_key_may_be_a_text(form: Callable[[object], object]) -> None:
    assert arguments(keys=form("id")).keys_of("t") == ("id",)
    assert arguments(keys="id").keys_of("t") == ("id",)


@pytest.mark.parametrize("form", [a_mapping, a_function])
@pytest.mark.parametrize(
    ("more", "added"),
    [
        ({"Value.Format": "json"}, {"value.format": "json"}),
        ({"includeHeaders": True}, {"includeheaders": "true"}),
        (None, {}),
        ({}, {}),
    ],
)
def test_options_of_a_topic_come_after_those_of_all(
    form: Callable[[object], object], more: object, added: Mapping[str, str]
) -> None:
    expected = {**by_lower_name(OPTIONS), **added, "envelope": "none"}
    assert arguments(topic_options=form(more)).options_of("t") == expected


def test_options_of_a_topics_merge() -> None:
    more = {"sequence_by": "lsn", "history": True}
    for form in (a_function(more), {"t": more, "other": {}}):
        assert arguments(merge_options=form).merge_options_of("t") == more
    assert arguments(merge_options={"other": more}).merge_options_of("t") == {}
    assert arguments(merge_options=more).merge_options_of("t") == more
    assert arguments().merge_options_of("t") == {}


def test_a_topic_that_a_mapping_lacks() -> None:
    given = arguments(rows={"u": "append"}, keys={"u": "id"}, topic_options={"u": {"a": "b"}})
    assert given.keys_of("t") is None
    with pytest.raises(TableError, match=r"`rows` .*topic t\b.*append, upsert, changes"):
        given.rows_of("t")
    others = arguments(topic_options={"u": {"a": "b"}}).options_of("t")
    assert others == {**by_lower_name(OPTIONS), "envelope": "none"}


@pytest.mark.parametrize(
    ("rows", "added"),
    [
        ("append", {"envelope": "none"}),
        ("upsert", {"envelope": "none", "includetopicid": "true"}),
        ("changes", {"envelope": "debezium", "debezium.prefix": PREFIX}),
    ],
)
def test_rows_need_an_envelope(rows: str, added: dict[str, str]) -> None:
    assert arguments(options={}, rows=rows).options_of("t") == added
    same = {"Envelope": added["envelope"]}
    assert arguments(options=same, rows=rows).options_of("t") == added
    assert arguments(options={}, rows=rows, topic_options={"t": same}).options_of("t") == added


def test_a_prefix_of_the_user_is_kept() -> None:
    given = arguments(options={"debezium.prefix": "_x_"}, rows="changes")
    assert given.options_of("t")["debezium.prefix"] == "_x_"


@pytest.mark.parametrize(("rows", "envelope"), [("append", "upsert"), ("changes", "none")])
@pytest.mark.parametrize("place", ["options", "topic_options"])
def test_another_envelope_is_refused(rows: str, envelope: str, place: str) -> None:
    option = {"ENVELOPE": envelope}
    given: dict[str, Any] = {place: option if place == "options" else {"t": option}}
    with pytest.raises(TableError, match=rf"topic t\b.*envelope={envelope}.*{rows}"):
        arguments(rows=rows, **given).options_of("t")


def test_the_case_of_an_envelope_does_not_matter() -> None:
    given = arguments(options={"envelope": " Debezium"}, rows="changes")
    assert given.options_of("t")["envelope"].strip().lower() == "debezium"


@pytest.mark.parametrize("rows", ["upsert", "changes"])
def test_a_broken_payload_must_not_empty_a_row(rows: str) -> None:
    with pytest.raises(TableError, match="topic t has the option mode=PERMISSIVE"):
        arguments(options={"mode": "permissive"}, rows=rows).options_of("t")


def test_an_option_of_the_whole_query_is_refused_for_a_topic() -> None:
    given = arguments(topic_options={"t": {"startingOffsets": "latest"}})
    with pytest.raises(TableError, match="has startingoffsets for topic t"):
        given.options_of("t")


def test_a_misspelt_argument_of_a_merge_is_refused() -> None:
    for given in ({"sequence_bye": "lsn"}, {"orders": ["history"]}):
        with pytest.raises(KafkaConfigError, match=f"merge_options has {next(iter(given))!r}"):
            arguments(merge_options=given)


def rows_of(given: Any) -> object:
    return arguments(rows=given).rows_of("orders")


def keys_of(given: Any) -> object:
    return arguments(keys=given).keys_of("orders")


def options_of(given: Any) -> object:
    return arguments(topic_options=given).options_of("orders")


def merge_options_of(given: Any) -> object:
    return arguments(merge_options=given).merge_options_of("orders")


@pytest.mark.parametrize(
    ("ask", "given", "reason"),
    [
        (rows_of, {"orders": "appended"}, "rows must be .*'appended'.*did you mean 'append'"),
        (rows_of, {"orders": 5}, "rows must be .*not 5"),
        (rows_of, lambda _: None, "`rows` .*orders"),
        (rows_of, fails, "`rows` failed .*orders: LookupError: .*no such topic"),
        (keys_of, {"orders": [1]}, r"`keys` .*\[1\].*orders"),
        (keys_of, {"orders": []}, "`keys` .*orders"),
        (keys_of, {"orders": ["id", ""]}, "`keys` .*orders"),
        (keys_of, [], "`keys` .*orders"),
        (keys_of, "", "`keys` .*orders"),
        (keys_of, 5, "`keys` .*5.*orders"),
        (keys_of, lambda _: {"id"}, "`keys` .*orders"),
        (keys_of, fails, "`keys` failed .*orders: LookupError"),
        (options_of, {"orders": "json"}, "`topic_options` .*orders"),
        (options_of, lambda _: ["json"], "`topic_options` .*orders"),
        (options_of, fails, "`topic_options` failed .*orders: LookupError"),
        (merge_options_of, lambda _: {"keys": "id"}, "`merge_options` .*'keys' .*orders"),
        (merge_options_of, fails, "`merge_options` failed .*orders: LookupError"),
    ],
)
def test_a_wrong_value_for_a_topic_is_named(
    ask: Callable[[Any], object], given: Any, reason: str
) -> None:
    with pytest.raises(TableError, match=reason):
        ask(given)


def test_the_error_of_a_function_is_the_cause() -> None:
    with pytest.raises(TableError) as caught:
        of_topic("rows", fails, "t")
    assert isinstance(caught.value.__cause__, LookupError)
