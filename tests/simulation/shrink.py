"""Makes a failing scenario small: takes out what the failure does not need. Runs nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, Final, TypeVar

from tests.simulation.scenario import Scenario

T = TypeVar("T")

Fails = Callable[[Scenario], bool]

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


def shrink(scenario: Scenario, fails: Fails, most_runs: int = 200) -> Scenario:
    """The smallest scenario that can be found which still fails.

    Args:
        scenario: One that fails.
        fails: Runs a scenario.
        most_runs: How often `fails` may be called.
    """
    budget = _Budget(fails, most_runs)
    while True:
        before = scenario
        for smaller in (_fewer_faults, _fewer_sends, _fewer_records, _fewer_options, _defaults):
            scenario = smaller(scenario, budget)
        if scenario == before or budget.is_spent:
            return scenario


class _Budget:
    """Counts runs; when none is left, nothing fails any more."""

    def __init__(self, fails: Fails, most_runs: int) -> None:
        self._fails = fails
        self._left = most_runs

    @property
    def is_spent(self) -> bool:
        return self._left <= 0

    def __call__(self, scenario: Scenario) -> bool:
        self._left -= 1
        return self._left >= 0 and self._fails(scenario)


def _fewer(items: Sequence[T], fails: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """A subset that still fails: halves are taken out, then quarters, down to single items."""
    kept = tuple(items)
    size = max(1, len(kept) // 2)
    while kept:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if fails(fewer):
                kept = fewer
            else:
                start += size
        if size == 1:
            break
        size = max(1, size // 2)
    return kept


def _fewer_faults(scenario: Scenario, fails: Fails) -> Scenario:
    faults = _fewer(scenario.faults, lambda kept: fails(replace(scenario, faults=kept)))
    return replace(scenario, faults=faults)


def _fewer_sends(scenario: Scenario, fails: Fails) -> Scenario:
    sends = _fewer(scenario.sends, lambda kept: fails(replace(scenario, sends=kept)))
    return replace(scenario, sends=sends)


def _fewer_records(scenario: Scenario, fails: Fails) -> Scenario:
    """One record in each part, if that is enough; else half of them."""
    for count in (lambda count: 1, lambda count: -(-count // 2)):
        smaller = replace(
            scenario,
            sends=tuple(
                send._replace(
                    parts=tuple(part._replace(length=count(part.length)) for part in send.parts)
                )
                for send in scenario.sends
            ),
        )
        if smaller != scenario and fails(smaller):
            scenario = smaller
    return scenario


def _fewer_options(scenario: Scenario, fails: Fails) -> Scenario:
    for name in _OPTIONS:
        scenario = _fewer_of(scenario, name, fails)
    return scenario


def _fewer_of(scenario: Scenario, name: str, fails: Fails) -> Scenario:
    options: dict[str, str] = getattr(scenario, name)

    def with_only(kept: tuple[str, ...]) -> Scenario:
        chosen = {k: v for k, v in options.items() if k in _KEPT_OPTIONS or k in kept}
        changed: dict[str, Any] = {name: chosen}
        return replace(scenario, **changed)

    removable = [key for key in options if key not in _KEPT_OPTIONS]
    return with_only(_fewer(removable, lambda kept: fails(with_only(kept))))


def _defaults(scenario: Scenario, fails: Fails) -> Scenario:
    for smaller in _with_defaults(scenario):
        plainer = replace(scenario, **smaller)
        if plainer != scenario and fails(plainer):
            scenario = plainer
    return scenario


def _with_defaults(scenario: Scenario) -> Iterator[dict[str, Any]]:
    for field in fields(scenario):
        if field.name in _PLAIN:
            yield {field.name: field.default}
