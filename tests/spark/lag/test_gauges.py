"""The table of gauges, and the two texts for Prometheus that come from it."""

from __future__ import annotations

import re
from pathlib import Path

from kafka_spark_source.lag.checkpoint import QueryLag
from kafka_spark_source.lag.estimated import EndTimes
from kafka_spark_source.lag.gauges import GAUGES, Unit, lag_seconds, measured, reported
from kafka_spark_source.lag.group import GroupLag
from kafka_spark_source.lag.measured import MeasuredLag
from kafka_spark_source.lag.progress import PartitionLag, QueryRun
from kafka_spark_source.lag.prometheus import render

DOCS = Path(__file__).parents[3] / "docs"


def test_the_text_of_reported_lags() -> None:
    lags = (PartitionLag("t", 0, 4, 6, 2_500), PartitionLag("t", 1, 9, 9, 0))
    run = QueryRun("orders", 1_767_225_600_000, 10.0, 12.5, lags, EndTimes())
    first, second = (
        f'{{query="orders",topic="t",partition="{partition}"}}' for partition in (0, 1)
    )
    assert render(reported([run])) == (
        "# HELP pykafka_lag_records Records that are not read yet.\n"
        "# TYPE pykafka_lag_records gauge\n"
        f"pykafka_lag_records{first} 2\n"
        f"pykafka_lag_records{second} 0\n"
        "# HELP pykafka_lag_seconds The age of the first unread record.\n"
        "# TYPE pykafka_lag_seconds gauge\n"
        f"pykafka_lag_seconds{first} 2.5\n"
        f"pykafka_lag_seconds{second} 0.0\n"
        "# HELP pykafka_consumed_offset First offset that the query has not read.\n"
        "# TYPE pykafka_consumed_offset gauge\n"
        f"pykafka_consumed_offset{first} 4\n"
        f"pykafka_consumed_offset{second} 9\n"
        "# HELP pykafka_latest_offset End of the log when the batch was planned.\n"
        "# TYPE pykafka_latest_offset gauge\n"
        f"pykafka_latest_offset{first} 6\n"
        f"pykafka_latest_offset{second} 9\n"
        "# HELP pykafka_input_rows_per_second Rows that arrive per second.\n"
        "# TYPE pykafka_input_rows_per_second gauge\n"
        'pykafka_input_rows_per_second{query="orders"} 10.0\n'
        "# HELP pykafka_processed_rows_per_second Rows processed per second.\n"
        "# TYPE pykafka_processed_rows_per_second gauge\n"
        'pykafka_processed_rows_per_second{query="orders"} 12.5\n'
        "# HELP pykafka_last_trigger_seconds When the last trigger began.\n"
        "# TYPE pykafka_last_trigger_seconds gauge\n"
        'pykafka_last_trigger_seconds{query="orders"} 1767225600.0\n'
    )


def test_the_text_of_measured_lags() -> None:
    unread = MeasuredLag("0", "t", 0, 5, 3, 10, 12, 1_500)
    unknown = MeasuredLag("", "t", 1, 3, 3, 0, 4, None)
    lags: list[QueryLag | GroupLag] = [
        QueryLag("/here", "id", 4, False, 0, (unread,)),
        GroupLag("readers", (unknown,)),
    ]
    query = '{query="/here",source="0",topic="t",partition="0"}'
    group = '{query="readers",source="",topic="t",partition="1"}'
    assert render(measured(lags, ["/gone"])) == (
        "# HELP pykafka_lag_records Records that are not read yet.\n"
        "# TYPE pykafka_lag_records gauge\n"
        f"pykafka_lag_records{query} 2\n"
        f"pykafka_lag_records{group} 1\n"
        "# HELP pykafka_lag_seconds The age of the first unread record.\n"
        "# TYPE pykafka_lag_seconds gauge\n"
        f"pykafka_lag_seconds{query} 1.5\n"
        "# HELP pykafka_lost_records Records that retention removed unread.\n"
        "# TYPE pykafka_lost_records gauge\n"
        f"pykafka_lost_records{query} 7\n"
        f"pykafka_lost_records{group} 0\n"
        "# HELP pykafka_lag_known 1 if the lag is known, 0 if the checkpoint or the group cannot "
        "be read.\n"
        "# TYPE pykafka_lag_known gauge\n"
        'pykafka_lag_known{query="/here"} 1\n'
        'pykafka_lag_known{query="readers"} 1\n'
        'pykafka_lag_known{query="/gone"} 0\n'
    )


def test_each_gauge_has_different_labels_and_what_is_not_known_has_none() -> None:
    """Prometheus refuses a whole text in which a gauge has the same labels twice."""
    gone = MeasuredLag("", "t", 1, 3, 3, None, None, None)
    lags: list[QueryLag | GroupLag] = [
        QueryLag("orders", "id", 4, False, 0, (MeasuredLag("0", "t", 0, 5, 3, 0, 5, 0),)),
        GroupLag("orders", (gone,)),
    ]
    gauges = {each.name: [*each.samples] for each in measured(lags, ["tmp", "tmp"])}
    for samples in gauges.values():
        labels = [tuple(sorted(each.items())) for each, _ in samples]
        assert len({*labels}) == len(labels)
    assert gauges["pykafka_lag_known"] == [({"query": "orders"}, 1), ({"query": "tmp"}, 0)]
    assert [value for _, value in gauges["pykafka_lag_records"]] == [2]
    of_both = {each.name: [*each.samples] for each in measured(lags, ["orders"])}
    assert of_both["pykafka_lag_known"] == [({"query": "orders"}, 0)]


def test_reported_and_measured_lags_have_the_same_seconds() -> None:
    for behind_ms, seconds in ((None, None), (0, 0), (1_500, 1.5)):
        assert lag_seconds(PartitionLag("t", 0, 4, 6, behind_ms)) == seconds
        assert lag_seconds(MeasuredLag("0", "t", 0, 5, 4, 0, 6, behind_ms)) == seconds


def test_rows_have_names_of_their_own_and_a_value() -> None:
    assert len({each.name for each in GAUGES}) == len(GAUGES)
    for each in GAUGES:
        assert each.of_report or each.of_query or each.of_logs or each.of_look
        assert re.fullmatch(r"[A-Z1][^\\\n]+\.", each.help)
        # Prometheus wants the unit in the name.
        assert (each.name.endswith("_seconds")) == (each.unit in {Unit.SECONDS, Unit.TIME})


def test_docs_name_gauges_that_there_are() -> None:
    named = {
        name
        for page in DOCS.rglob("*.md")
        for name in re.findall(r"\bpykafka_(?:lag|lost|input|processed|last)_\w+", page.read_text())
    }
    assert named == {each.name for each in GAUGES if not each.name.endswith("_offset")}
