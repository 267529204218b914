"""Scenarios that are a step smaller than one that fails; `tests/truth/shrink.py` tries them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, Final

from tests.simulation.scenario import Scenario
from tests.truth import shrink as search

# Fields that are set back to their defaults where the failure does not need them.
_PLAIN: Final = (
    "trigger",
    "speculation_ms",
    "loser_ms",
    "orphan_ms",
    "restart_ms",
    "pause_ms",
    "value_bytes",
    "slots",
    "interface",
)
_OPTIONS: Final = ("source", "write", "producer", "columns")
# Without it the query begins at the end of the input.
_KEPT_OPTIONS: Final = ("startingOffsets", "kafka.isolation.level")


def shrink(scenario: Scenario, fails: Callable[[Scenario], bool], most_runs: int = 200) -> Scenario:
    """The smallest scenario that can be found in so many runs which still fails."""
    return search.shrink(scenario, smaller, search.one_by_one(fails, most_runs))


def smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Scenarios with fewer faults, sends, records and options, and with more defaults."""
    for faults in search.fewer(scenario.faults):
        yield replace(scenario, faults=faults)
    for sends in search.fewer(scenario.sends):
        yield replace(scenario, sends=sends)
    yield from _fewer_records(scenario)
    for name in _OPTIONS:
        yield from _fewer_options(scenario, name)
    for field in fields(scenario):
        if field.name in _PLAIN and getattr(scenario, field.name) != field.default:
            yield _changed(scenario, field.name, field.default)


def _fewer_records(scenario: Scenario) -> Iterator[Scenario]:
    """One record in each part, or half of them."""
    for length in (lambda length: 1, lambda length: -(-length // 2)):
        sends = tuple(
            send._replace(
                parts=tuple(part._replace(length=length(part.length)) for part in send.parts)
            )
            for send in scenario.sends
        )
        if sends != scenario.sends:
            yield replace(scenario, sends=sends)


def _fewer_options(scenario: Scenario, name: str) -> Iterator[Scenario]:
    options: dict[str, str] = getattr(scenario, name)
    removable = [key for key in options if key not in _KEPT_OPTIONS]
    for kept in search.fewer(removable):
        chosen = {k: v for k, v in options.items() if k in _KEPT_OPTIONS or k in kept}
        yield _changed(scenario, name, chosen)


def _changed(scenario: Scenario, name: str, value: Any) -> Scenario:
    changed: dict[str, Any] = {name: value}
    return replace(scenario, **changed)
