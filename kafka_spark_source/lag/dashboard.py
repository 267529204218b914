"""A Grafana dashboard and Prometheus alert rules for the gauges of `LagListener`.

Source: Grafana's JSON model of dashboards; Prometheus' "Alerting rules".
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kafka_spark_source.lag.gauges import (
    CONSUMED_OFFSET,
    INPUT_ROWS,
    LAG_RECORDS,
    LAG_SECONDS,
    LAST_TRIGGER,
    LATEST_OFFSET,
    PROCESSED_ROWS,
    LagGauge,
    Unit,
)

# Grafana migrates older versions of the model by itself.
_SCHEMA_VERSION: Final = 39
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_HEIGHT: Final = 8
_WIDTH: Final = 12


class _Panel(NamedTuple):
    """A graph: its title, its gauge, its expression of the gauge, and the legend of a line."""

    title: str
    gauge: LagGauge
    drawn: str
    legend: str

    @property
    def expression(self) -> str:
        """The expression of PromQL, for the chosen queries."""
        return self.drawn.replace(_GAUGE, f'{self.gauge.name}{{query=~"$query"}}')


# Stands for the gauge and the chosen queries.
_GAUGE: Final = "GAUGE"
_BY_PARTITION: Final = "{{query}} {{topic}}-{{partition}}"
_BY_QUERY: Final = "{{query}}"
_PANELS: Final = (
    _Panel("Lag in time", LAG_SECONDS, "max by (query) (GAUGE)", _BY_QUERY),
    _Panel("Lag in records", LAG_RECORDS, "sum by (query) (GAUGE)", _BY_QUERY),
    _Panel(
        "The ten partitions with the largest lag", LAG_SECONDS, "topk(10, GAUGE)", _BY_PARTITION
    ),
    _Panel(
        "Written to the topics, records per second",
        LATEST_OFFSET,
        "sum by (query, topic) (deriv(GAUGE[5m]))",
        "{{query}} {{topic}}",
    ),
    _Panel("Rows that arrive, per second", INPUT_ROWS, "GAUGE", _BY_QUERY),
    _Panel("Rows that are processed, per second", PROCESSED_ROWS, "GAUGE", _BY_QUERY),
    _Panel("Since the last trigger", LAST_TRIGGER, "time() - GAUGE", _BY_QUERY),
)
# Grafana's names of units.
_UNITS: Final = {
    Unit.RECORDS: "short",
    Unit.SECONDS: "s",
    Unit.OFFSET: "short",
    Unit.ROWS_PER_SECOND: "short",
    Unit.TIME: "s",  # a panel shows the time since then
}


class _Rule(NamedTuple):
    """An alert: its name, its condition, how long that must hold, and a summary."""

    name: str
    expression: str
    duration: str
    summary: str


_RULES: Final = (
    _Rule(
        "PykafkaQueryBehind",
        f"max by (query) ({LAG_SECONDS.name}) > 300",
        "5m",
        "The query {{ $labels.query }} is {{ $value | humanizeDuration }} behind.",
    ),
    _Rule(
        "PykafkaQueryStuck",
        f"changes({CONSUMED_OFFSET.name}[10m]) == 0 and {LAG_RECORDS.name} > 0",
        "5m",
        "The query {{ $labels.query }} has read nothing of {{ $labels.topic }}-"
        "{{ $labels.partition }} for ten minutes, and there are records.",
    ),
    _Rule(
        "PykafkaQuerySilent",
        f"time() - {LAST_TRIGGER.name} > 600",
        "5m",
        "The query {{ $labels.query }} has begun no trigger for ten minutes: a micro-batch hangs, "
        "or its driver is gone.",
    ),
)


def dashboard() -> dict[str, Any]:
    """The dashboard, to be imported into Grafana as JSON."""
    return {
        "title": "pykafka: streaming queries",
        "uid": "pykafka-queries",
        "tags": ["kafka", "spark"],
        "schemaVersion": _SCHEMA_VERSION,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": [_data_source(), _query_variable()]},
        "panels": [_panel(number, each) for number, each in enumerate(_PANELS)],
    }


def alert_rules() -> dict[str, Any]:
    """The rules, as Prometheus reads them: YAML, of which JSON is a part."""
    rules = [
        {
            "alert": each.name,
            "expr": each.expression,
            "for": each.duration,
            "labels": {"severity": "warning"},
            "annotations": {"summary": each.summary},
        }
        for each in _RULES
    ]
    return {"groups": [{"name": "pykafka", "rules": rules}]}


def expressions() -> list[str]:
    """All expressions of PromQL in them."""
    return [each.expression for each in (*_PANELS, *_RULES)]


def _data_source() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Source"}


def _query_variable() -> dict[str, Any]:
    return {
        "name": "query",
        "type": "query",
        "label": "Query",
        "datasource": _SOURCE,
        "query": f"label_values({LAG_RECORDS.name}, query)",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(number: int, panel: _Panel) -> dict[str, Any]:
    place = {"x": number % 2 * _WIDTH, "y": number // 2 * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": _UNITS[panel.gauge.unit], "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": "A",
                "datasource": _SOURCE,
                "expr": panel.expression,
                "legendFormat": panel.legend,
            }
        ],
    }
