"""Each value of PostgreSQL's that a real Debezium wrote, compared with the database's own text.

`python -m tests.change_data.record matrix` wrote the events: Debezium 3.6.1, PostgreSQL 18.6. A
cell is exact, or in the table of docs/debezium.md with its reason, which is `matrix_table.ROWS`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from tests.change_data.matrix import ARRAY, CONVERTERS, KINDS, MODES
from tests.formats.debezium.matrix_cells import (
    EXACT,
    NO_EVENT,
    NULL,
    UNCHANGED,
    Cell,
    cells_of,
    recorded,
    records_in,
)
from tests.formats.debezium.matrix_table import ROWS, page_lines
from tests.formats.debezium.matrix_values import meaning, meaning_of_text

PAGE = Path(__file__).parents[3] / "docs" / "debezium.md"
CLAUSES = [clause for row in ROWS for clause in row.clauses]
# Avro differs by mode in the moments of `connect`; the other modes differ by a factor of times.
QUICK = {"told": list(MODES)[:2], "plain": list(MODES)[2:4], "avro": ["connect"]}
CONNECTORS = [
    pytest.param(converter, mode, marks=[pytest.mark.slow] * (mode not in QUICK[converter]))
    for converter in CONVERTERS
    for mode in MODES
]


@pytest.mark.no_cover
@pytest.mark.parametrize(("converter", "mode"), CONNECTORS)
def test_each_cell_is_exact_or_in_the_table(converter: str, mode: str) -> None:
    cells = [*cells_of(converter, mode)]
    others = [each for each in cells if each.outcome != EXACT]
    unlisted = [each for each in others if not any(clause.covers(each) for clause in CLAUSES)]
    assert unlisted == []
    expected = {
        (number, column)
        for number, clause in enumerate(CLAUSES)
        if mode in clause.modes and converter in clause.converters
        for column in clause.columns
    }
    seen = {
        (number, each.column)
        for number, clause in enumerate(CLAUSES)
        for each in others
        if clause.covers(each)
    }
    assert expected - seen == set()
    counts = Counter(each.outcome for each in cells)
    assert counts[EXACT] > 1_900
    assert counts[NO_EVENT] == 0


@pytest.mark.parametrize("mode", MODES)
def test_what_is_null_is_null_in_the_event(mode: str) -> None:
    """Nothing that an event has is lost by the read."""
    events = {
        (table, document["after"]["id"]): document["after"]
        for table in ("cells", "large")
        for _, value in records_in(f"plain_{mode}.public.{table}")
        for document in [json.loads(value or b"")]
    }
    lost = [
        each
        for clause in CLAUSES
        if clause.outcome == NULL and mode in clause.modes and UNCHANGED in clause.texts
        for each in clause.columns
        if events["large", 5_000][each] is not None
    ]
    assert lost == []


def test_the_page_has_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "\n".join(page_lines()) in page
    assert f"wrote {len(KINDS)} types of PostgreSQL" in page


def test_each_type_has_each_of_its_values() -> None:
    for table in ("cells", "required"):
        texts = recorded()["texts"][table].values()
        for name, kind in KINDS.items():
            found = {json.dumps(each[name]) for each in texts if name in each}
            assert len(found) >= (len(kind.values) if table == "cells" else 1)
    assert all(kind + ARRAY in recorded()["texts"]["cells"]["12"] for kind in KINDS)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("date", "4713-01-01 BC", pa.scalar(-2_440_550, pa.int32()).cast(pa.date32())),
        ("ts", "1970-01-02 00:00:00.000001", pa.scalar(86_400_000_001, pa.timestamp("us"))),
        ("num", "12.50", pa.scalar("12.5")),
        ("float4", "0.1", pa.scalar(0.1, pa.float32())),
        ("hstore", '"a"=>"1", "b"=>NULL', pa.scalar('{"a":"1","b":null}')),
        ("bytea", "\\x00ff", pa.scalar("AP8=")),
        ("interval", "1 year 2 days 00:00:01.5", pa.scalar("P1Y0M2DT0H0M1.5S")),
    ],
)
def test_the_comparison_itself(kind: str, text: str, value: pa.Scalar) -> None:
    assert meaning_of_text(kind, text) == meaning(kind, value, None, "base64")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("float8", "0", pa.scalar(-0.0)),
        ("num", "0.1", pa.scalar(0.1)),
        ("ts", "1970-01-01 00:00:00", pa.scalar(1, pa.timestamp("us"))),
        ("text", "a", pa.scalar("a ")),
        ("bool", "false", pa.scalar(True)),
    ],
)
def test_the_comparison_sees_a_difference(kind: str, text: str, value: pa.Scalar) -> None:
    assert meaning_of_text(kind, text) != meaning(kind, value, None, "bytes")


@pytest.mark.no_cover
def test_a_refusal_names_the_column() -> None:
    refused = [each for each in cells_of("told", "isostring") if each.outcome == "refused"]
    assert refused
    assert all(re.search(rf"field {each.column}\b", each.found) for each in refused)


def test_a_cell_knows_when_it_was_written() -> None:
    def when(place: str) -> str:
        return Cell("told", "adaptive", "date", None, EXACT, None, place).when

    assert [when(each) for each in ("cells 10", "cells 110", "cells 1000", "cells 1100")] == [
        *("snapshot", "stream") * 2
    ]
