"""Findings of one place or of several, as text: side by side, and as a block to paste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_spark_source.diagnosis.findings import Finding, Result

# Where a place did not come to a step.
_NOT_TRIED: Final = "-"


class Place(NamedTuple):
    """Where a diagnosis ran: here, on the driver, or on an executor.

    Attributes:
        name: The name of the place.
        environment: The releases installed there, as `environment` gives them.
        findings: The steps, in their order.
    """

    name: str
    environment: Mapping[str, str]
    findings: Sequence[Finding]

    @property
    def is_good(self) -> bool:
        """Whether no step is bad."""
        return all(each.result is not Result.BAD for each in self.findings)


def verdict(place: Place) -> str:
    """One sentence about a place, and its findings: bad, costly and unknown before good ones."""
    by_result = {
        result: [each for each in place.findings if each.result is result] for result in Result
    }
    bad, costly, unknown = (by_result[each] for each in (Result.BAD, Result.COSTLY, Result.UNKNOWN))
    counted = [
        f"{len(findings)} {what}"
        for findings, what in (
            (bad, "must be mended"),
            (costly, "cost something"),
            (unknown, "could not be found out"),
            (by_result[Result.GOOD], "good"),
        )
        if findings
    ]
    word = "It does not work" if bad else "It works"
    ordered = [*bad, *costly, *unknown, *by_result[Result.GOOD]]
    return "\n".join([f"{word}. Steps: {', '.join(counted)}.", *(f"  {each}" for each in ordered)])


def side_by_side(places: Sequence[Place]) -> str:
    """A table: a row for each step, a column for each place; below, the steps that are not good."""
    rows = [*dict.fromkeys((each.step, each.subject) for p in places for each in p.findings)]
    results = [{(f.step, f.subject): f.result.mark for f in place.findings} for place in places]
    cells = [[str(number) for number, _ in enumerate(places, 1)] + ["step", "of"]]
    cells += [[*(marks.get(row, _NOT_TRIED) for marks in results), *row] for row in rows]
    names = [f"{number}  {place.name}" for number, place in enumerate(places, 1)]
    return "\n".join([*names, "", *_aligned(cells), *_details(places)])


def _details(places: Sequence[Place]) -> list[str]:
    """The findings that are not good, each once, with the places that have it."""
    places_of: dict[str, list[str]] = {}
    for number, place in enumerate(places, 1):
        for finding in place.findings:
            if finding.result is not Result.GOOD:
                places_of.setdefault(str(finding), []).append(str(number))
    return [f"\n[{', '.join(numbers)}] {text}" for text, numbers in places_of.items()]


def pasteable(places: Sequence[Place], options: Mapping[str, str]) -> str:
    """A block for a report of a fault: the environment, the options, and each step.

    `options` must be masked. Releases that are the same in all places are named once.
    """
    first, *others = places
    lines = [f"{name}: {value}" for name, value in first.environment.items()]
    for place in others:
        lines += [
            f"{name} of {place.name}: {value}"
            for name, value in place.environment.items()
            if first.environment.get(name) != value
        ]
    lines += [f"{name} = {value}" for name, value in options.items()]
    for place in places:
        lines += [f"{place.name}:", *(f"  {finding}" for finding in place.findings)]
    return "\n".join(["```", *lines, "```"])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
