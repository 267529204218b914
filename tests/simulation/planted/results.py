"""The results of the last hunts: two files, and the tables of the page that they make."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.own_process import ROOT
from tests.simulation.planted.hunt import Found
from tests.simulation.planted.hunt_tests import FoundByTest
from tests.simulation.planted.table import FAULTS
from tests.simulation.planted.wings import WINGS

RESULTS: Final = Path(__file__).parent / "results.json"
WING_RESULTS: Final = RESULTS.with_name("wings.json")
PAGE: Final = ROOT / "docs" / "reliability.md"

_BEGIN: Final = "<!-- Written by `make test-planted`. -->\n"
_END: Final = "<!-- The end of what `make test-planted` writes. -->\n"


def kept(found: Found | FoundByTest) -> dict[str, Any]:
    """What is kept of a hunt: nothing that differs from machine to machine."""
    if isinstance(found, FoundByTest):
        return {"test": found.test}
    if found.seed is None:
        return {"seed": None, "seeds": found.seeds}
    return {"seed": found.seed, "judge": found.judge}


def read(file: Path) -> dict[str, dict[str, Any]]:
    """The results in a file; none if there is no file."""
    results: dict[str, dict[str, Any]] = json.loads(file.read_text()) if file.exists() else {}
    return results


def write(file: Path, results: Mapping[str, Mapping[str, Any]]) -> None:
    """Write results in the order of the faults; those of others are left out."""
    known = {each.name: results[each.name] for each in (*FAULTS, *WINGS) if each.name in results}
    file.write_text(json.dumps(known, indent=1) + "\n")


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The table of the page."""
    found = sum(each["seed"] is not None for each in results.values())
    rest = len(FAULTS) - len(results)
    lines = [
        f"Found: {found} of {len(FAULTS)}." + (f" Not hunted for yet: {rest}." if rest else ""),
        "",
        "| planted fault | found by the judge of | seed |",
        "| --- | --- | --- |",
    ]
    for fault in FAULTS:
        result = results.get(fault.name)
        if result is None:
            lines.append(f"| {fault.name} | not hunted for yet | |")
        elif result["seed"] is None:
            lines.append(f"| {fault.name} | {fault.missed or 'nobody'} | |")
        else:
            lines.append(f"| {fault.name} | {result['judge']} | {result['seed']} |")
    return "\n".join(lines) + "\n"


def table_of_wings(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The table of what is hunted by tests."""
    tests = {name: result["test"] for name, result in results.items()}
    lines = [
        f"Found by tests: {sum(map(bool, tests.values()))} of {len(WINGS)}.",
        "",
        "| planted fault | file | found by |",
        "| --- | --- | --- |",
    ]
    for fault in WINGS:
        shown = "not hunted for yet" if fault.name not in tests else "nobody"
        if test := tests.get(fault.name):
            file, _, name = test.partition("::")
            shown = f"`{Path(file).name}`: `{name.partition('[')[0].replace('::', '.')}`"
        lines.append(f"| {fault.name} | `{Path(fault.path).name}` | {shown} |")
    return "\n".join(lines) + "\n"


def tables(
    results: Mapping[str, Mapping[str, Any]], of_wings: Mapping[str, Mapping[str, Any]]
) -> str:
    """Both tables of the page."""
    return f"{table(results)}\n{table_of_wings(of_wings)}"


def with_table(page: str, text: str) -> str:
    """The page with this table."""
    before, _, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not end:
        raise ValueError(f"{PAGE} has no place for the table of planted faults")
    return f"{before}{_BEGIN}\n{text}\n{end}{after}"


def write_page(
    results: Mapping[str, Mapping[str, Any]], of_wings: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write the tables into the page."""
    PAGE.write_text(with_table(PAGE.read_text(), tables(results, of_wings)))
