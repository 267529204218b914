"""A strict parser of Prometheus' text format, independent of the code under test."""

from __future__ import annotations

import re

_SAMPLE = re.compile(r"([a-z_]+)\{(.*)\} (-?[0-9]+(?:\.[0-9]+)?|nan|inf)", re.DOTALL)
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
_ESCAPE = re.compile(r"\\(.)")
_UNESCAPED = {"\\": "\\", '"': '"', "n": "\n"}

Samples = list[tuple[dict[str, str], float]]


def parse(text: str) -> dict[str, Samples]:
    """Gauges by name. Strict: each has a HELP, a TYPE and its samples, and nothing else."""
    if not text:
        return {}
    assert text.endswith("\n")
    gauges: dict[str, Samples] = {}
    lines = iter(text[:-1].split("\n"))
    for line in lines:
        if line.startswith("# HELP "):
            name, _, description = line.removeprefix("# HELP ").partition(" ")
            assert description
            assert "\\" not in description
            assert next(lines) == f"# TYPE {name} gauge"
            assert gauges.setdefault(name, []) == [], "a gauge is there twice"
            continue
        sample = _SAMPLE.fullmatch(line)
        assert sample, line
        assert sample[1] == list(gauges)[-1], "a sample is not with its gauge"
        labels = _parse_labels(sample[2])
        assert labels not in [others for others, _ in gauges[sample[1]]], "a sample is there twice"
        gauges[sample[1]].append((labels, _number(sample[3])))
    return gauges


def _number(text: str) -> float:
    # A float has not all integers.
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _parse_labels(text: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    while text:
        label = _LABEL.match(text)
        assert label, text
        assert label[1] not in labels
        labels[label[1]] = _ESCAPE.sub(lambda escape: _UNESCAPED[escape[1]], label[2])
        text = text[label.end() :]
    return labels
