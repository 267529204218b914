"""A Grafana dashboard and Prometheus alert rules for the gauges of `LagListener`.

Source: Grafana's JSON model of dashboards; Prometheus' "Alerting rules".
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

# Grafana migrates older versions of the model by itself.
_SCHEMA_VERSION: Final = 39
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_HEIGHT: Final = 8
_WIDTH: Final = 12


class _Panel(NamedTuple):
    """A graph: its title, what it draws, the legend of a line, and Grafana's unit."""

    title: str
    expression: str
    legend: str
    unit: str


_BY_PARTITION: Final = "{{query}} {{topic}}-{{partition}}"
_PANELS: Final = (
    _Panel(
        "Lag in time", 'max by (query) (pykafka_lag_seconds{query=~"$query"})', "{{query}}", "s"
    ),
    _Panel(
        "Lag in records",
        'sum by (query) (pykafka_lag_records{query=~"$query"})',
        "{{query}}",
        "short",
    ),
    _Panel(
        "The ten partitions with the largest lag",
        'topk(10, pykafka_lag_seconds{query=~"$query"})',
        _BY_PARTITION,
        "s",
    ),
    _Panel(
        "Written to the topics, records per second",
        'sum by (query, topic) (deriv(pykafka_latest_offset{query=~"$query"}[5m]))',
        "{{query}} {{topic}}",
        "short",
    ),
    _Panel(
        "Rows that arrive, per second",
        'pykafka_input_rows_per_second{query=~"$query"}',
        "{{query}}",
        "short",
    ),
    _Panel(
        "Rows that are processed, per second",
        'pykafka_processed_rows_per_second{query=~"$query"}',
        "{{query}}",
        "short",
    ),
    _Panel(
        "Since the last trigger",
        'time() - pykafka_last_trigger_seconds{query=~"$query"}',
        "{{query}}",
        "s",
    ),
)


class _Rule(NamedTuple):
    """An alert: its name, when it is given, for how long that must hold, and what to do."""

    name: str
    expression: str
    duration: str
    summary: str


_RULES: Final = (
    _Rule(
        "PykafkaQueryBehind",
        "max by (query) (pykafka_lag_seconds) > 300",
        "5m",
        "The query {{ $labels.query }} is {{ $value | humanizeDuration }} behind.",
    ),
    _Rule(
        "PykafkaQueryStuck",
        "changes(pykafka_consumed_offset[10m]) == 0 and pykafka_lag_records > 0",
        "5m",
        "The query {{ $labels.query }} has read nothing of {{ $labels.topic }}-"
        "{{ $labels.partition }} for ten minutes, and there are records.",
    ),
    _Rule(
        "PykafkaQuerySilent",
        "time() - pykafka_last_trigger_seconds > 600",
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
        "query": "label_values(pykafka_lag_records, query)",
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
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": "A",
                "datasource": _SOURCE,
                "expr": panel.expression,
                "legendFormat": panel.legend,
            }
        ],
    }
