"""The output of commands: a table for people, or JSON for programs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeAlias

from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.escaping import escaped_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

# How a table shows a known value.
Show: TypeAlias = Callable[[Any], str]

# How a table shows a value that is not known, or empty.
UNKNOWN = "-"
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def print_rows(
    arguments: argparse.Namespace,
    rows: Iterable[Mapping[str, Any]],
    columns: Mapping[str, Show],
) -> None:
    """Print values: as a JSON array with all of them, or as a table.

    Args:
        arguments: With the argument of `add_output`.
        rows: Values that JSON can have.
        columns: The columns of the table: name -> how to show a value that is known.
    """
    listed = list(rows)
    if arguments.output == "json":
        print_json(listed)
        return
    console.print_table(
        [name.removesuffix("_ms").replace("_", " ") for name in columns],
        [[_shown(row[name], show) for name, show in columns.items()] for row in listed],
    )


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    console.print_text(escaped_json(json.dumps(value, indent=2, ensure_ascii=False)))


def json_line(value: Any) -> str:
    """A value as JSON in one line."""
    return escaped_json(json.dumps(value, ensure_ascii=False))


def _shown(value: Any, show: Show) -> str:
    # An empty cell would be no column for awk.
    return UNKNOWN if value is None else show(value) or UNKNOWN


def count(number: int) -> str:
    """A number with commas."""
    return f"{number:,}"


def duration(ms: int) -> str:
    """A duration in its two largest units: `2 d 3 h`, `4.2 s`, `0`."""
    if ms < 60_000:
        return f"{ms / 1000:.1f} s" if ms else "0"
    for (size, unit), (smaller, name) in itertools.pairwise(_UNITS):
        if ms >= size:
            whole, rest = divmod(ms, size)
            return f"{whole} {unit} {rest // smaller} {name}"
    raise AssertionError("a minute or more")


def moment(ms: int) -> str:
    """A time in ms since 1970, in UTC; the number itself where no calendar has it."""
    return _in_utc(ms, "")


def moment_ms(ms: int) -> str:
    """A time as from `moment`, with its milliseconds."""
    return _in_utc(ms, f".{ms % 1000:03}")


def _in_utc(ms: int, fraction: str) -> str:
    # Producers that write microseconds where milliseconds belong have years above 50,000.
    try:
        time = datetime.fromtimestamp(ms // 1000, timezone.utc)
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"
    return f"{time:%Y-%m-%d %H:%M:%S}{fraction}Z"


def sequence(texts: Sequence[Any]) -> str:
    """Values in a row."""
    return ", ".join(map(str, texts))
