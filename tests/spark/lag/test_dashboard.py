"""The dashboard and the alert rules name gauges that there are, in expressions that are PromQL."""

from __future__ import annotations

import itertools
import re

import promql_parser
import pytest

from kafka_spark_source.lag.dashboard import alert_rules, dashboard, expressions
from kafka_spark_source.lag.gauges import GAUGES

REPORTED = {each.name for each in GAUGES if each.of_report or each.of_query}


@pytest.mark.parametrize("expression", expressions())
def test_each_expression_is_of_gauges_that_there_are(expression: str) -> None:
    promql_parser.parse(expression.replace("$query", ".*"))
    named = {*re.findall(r"pykafka_\w+", expression)}
    assert named
    assert named <= REPORTED


def test_the_dashboard_has_all_gauges_of_the_listener() -> None:
    text = " ".join(expressions())
    assert {name for name in REPORTED if name in text} == REPORTED


def test_panels_have_places_and_ids_of_their_own() -> None:
    panels = dashboard()["panels"]
    assert len({each["id"] for each in panels}) == len(panels)
    for one, other in itertools.combinations((each["gridPos"] for each in panels), 2):
        apart = (
            one["x"] + one["w"] <= other["x"],
            other["x"] + other["w"] <= one["x"],
            one["y"] + one["h"] <= other["y"],
            other["y"] + other["h"] <= one["y"],
        )
        assert any(apart)


def test_labels_in_summaries_are_those_of_the_expressions() -> None:
    for rule in alert_rules()["groups"][0]["rules"]:
        labels = {*re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])}
        by_query = "by (query)" in rule["expr"] or "last_trigger" in rule["expr"]
        assert labels <= ({"query"} if by_query else {"query", "topic", "partition"})
