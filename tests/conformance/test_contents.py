"""Both connectors read the same rows of all kinds of topics, in order, with all columns."""

from __future__ import annotations

import pytest

from tests.conformance.sides import Sides
from tests.conformance.topics import CODECS, LARGEST_BYTES, Topics

pytestmark = [pytest.mark.integration, pytest.mark.spark]

KINDS = [
    "all_codecs",
    "idempotent",
    "transactions",
    "open_transaction",
    "ends_with_abort",
    "compacted",
    "cut",
    "nulls",
    "partly_empty",
    "empty",
    "created",
    "out_of_order",
    "appended",
]
ISOLATION = ["read_uncommitted", "read_committed"]


@pytest.mark.core
@pytest.mark.parametrize("codec", CODECS)
def test_codecs(sides: Sides, topics: Topics, codec: str) -> None:
    assert len(sides.rows(subscribe=topics.codec(codec))) == 880


@pytest.mark.parametrize("isolation_level", ISOLATION)
@pytest.mark.parametrize("kind", KINDS)
def test_contents(sides: Sides, topics: Topics, kind: str, isolation_level: str) -> None:
    rows = sides.rows(
        subscribe=getattr(topics, kind),
        kafka__isolation__level=isolation_level,
        includeHeaders="true",
    )
    assert bool(rows) == (kind != "empty")


@pytest.mark.core
def test_committed_rows_are_fewer(sides: Sides, topics: Topics) -> None:
    """The topics do contain aborted and open transactions."""
    counts = {
        level: [
            len(sides.rows(subscribe=topic, kafka__isolation__level=level))
            for topic in (topics.transactions, topics.open_transaction, topics.ends_with_abort)
        ]
        for level in ISOLATION
    }
    assert counts == {"read_uncommitted": [17, 24, 6], "read_committed": [10, 10, 2]}


def test_a_compacted_log_has_gaps(sides: Sides, topics: Topics) -> None:
    offsets = [row["offset"] for row in sides.rows(subscribe=topics.compacted)]
    assert offsets[0] > 0
    assert len(offsets) < offsets[-1] - offsets[0]


@pytest.mark.core
def test_headers(sides: Sides, topics: Topics) -> None:
    rows = sides.rows(subscribe=topics.headers, includeHeaders="true")
    assert rows[0]["headers"] is None
    assert [each["key"] for each in rows[2]["headers"]] == ["twice", "other", "twice", "twice"]
    assert "headers" not in sides.rows(subscribe=topics.headers)[0]


def test_sizes(sides: Sides, topics: Topics) -> None:
    rows = sides.rows(subscribe=topics.sizes)
    assert len(rows) == 24
    assert max(len(row["value"]) for row in rows) == LARGEST_BYTES


@pytest.mark.core
def test_times(sides: Sides, topics: Topics) -> None:
    both = f"{topics.created},{topics.appended}"
    rows = sides.rows(subscribe=both)
    assert {row["topic"]: row["timestampType"] for row in rows} == {
        topics.created: 0,
        topics.appended: 1,
    }


def test_all_topics_at_once(sides: Sides, topics: Topics) -> None:
    several = [topics.all_codecs, topics.transactions, topics.cut, topics.headers, topics.nulls]
    sides.rows(subscribe=", ".join(several), includeHeaders="TRUE")
