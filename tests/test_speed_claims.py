"""The claims about speed in docs/performance.md are those of the results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from benchmarks.tables import Row, results_of

PAGE: Final = Path(__file__).parents[1] / "docs" / "performance.md"
# Times Spark's connector, tuned: the lowest and the highest that a verdict stands for.
VERDICTS: Final = {"faster": (1.05, 1_000), "about as fast": (0.75, 1.25), "slower": (0, 0.95)}
READ: Final = ("read", "results", "workload", "to_tuned")
WRITE: Final = ("write", "write", "workload", "to_kafka")
AVRO: Final = ("formats", "queries", "workload", "to_tuned")
WIDE: Final = ("wide", "results", "partitions", "to_tuned")
STREAM: Final = ("stream", "catch_up", "workload", "to_tuned")
LATENCY: Final = ("stream", "latency", "contender", "to_tuned")

# Each claim, where its figures are, and the names of its cases there.
CLAIMS: Final = {
    "topics with many partitions": (WIDE, r"100|1000"),
    "few columns, `count()`, headers": (READ, r"100 B x 1,000 (offset, value|count\(\).*|headers)"),
    "compressed small records in batches of 1,000": (READ, r"100 B x 1,000 (lz4|zstd)"),
    "uncompressed small records in batches of 1,000": (READ, r"100 B x 1,000"),
    "writes of small records": (WRITE, r"100 B .* tuned"),
    "writes with zstd": (WRITE, r".* zstd tuned"),
    "small records in batches of 5": (READ, r"100 B x 5( lz4)?"),
    "streams that catch up on few partitions": (STREAM, r".*"),
    "a few new rows of a stream": (LATENCY, r".*"),
    "uncompressed writes up to 1 kB": (WRITE, r"(100 B|1 kB.*) none tuned"),
    "uncompressed writes of 10 kB": (WRITE, r"10 kB none tuned"),
    "Avro records of few small fields": (AVRO, r"10 fields, 100 B"),
    "small records in batches of 1": (READ, r"100 B x 1( lz4)?"),
    "records of 1 kB": (READ, r"1 kB .*"),
    "uncompressed records of 10 kB": (READ, r"10 kB x 1,000"),
    "records of 10 kB with lz4": (READ, r"10 kB .* lz4"),
    "writes of 1 kB with lz4": (WRITE, r"1 kB lz4 tuned"),
    "writes of one repeated value with lz4": (WRITE, r"1 kB repeated lz4 tuned"),
    "writes of 10 kB with lz4": (WRITE, r"10 kB lz4 tuned"),
    "Avro records of 1 kB, or of many fields": (AVRO, r"10 fields, 1 kB|30 fields"),
}
FIRST_QUERY: Final = "the first query of a session"


def claims_of_the_page() -> dict[str, str]:
    """The verdict on each kind of work."""
    page = PAGE.read_text()
    return {
        claim: verdict
        for verdict in VERDICTS
        for row in re.findall(rf"^\| {verdict} \| (.+) \|$", page, re.M)
        for claim in row.split("; ")
    }


def test_each_claim_has_its_cases() -> None:
    assert sorted(claims_of_the_page()) == sorted([*CLAIMS, FIRST_QUERY])


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_results_say_so(claim: str) -> None:
    (name, table, label, key), cases = CLAIMS[claim]
    times = [
        (row[label], row[key])
        for row in results_of(name)[table]
        if row["contender"] == "pykafka" and key in row and re.fullmatch(cases, str(row[label]))
    ]
    assert times
    lowest, highest = VERDICTS[claims_of_the_page()[claim]]
    assert [each for each in times if not lowest <= each[1] <= highest] == []


def test_the_first_query_takes_longer() -> None:
    seconds = {row["contender"]: row["seconds"] for row in results_of("read")["first_query"]}
    assert seconds["pykafka"] > seconds["kafka"]


def test_reads_are_faster_than_with_the_defaults() -> None:
    rows: list[Row] = [
        row for row in results_of("read")["results"] if row["contender"] == "pykafka"
    ]
    assert [row["workload"] for row in rows if row["to_kafka"] <= 1] == []


def test_columns_that_are_decoded_already_are_faster_than_from_avro() -> None:
    rows = [row for row in results_of("formats")["queries"] if row["contender"] == "ceiling"]
    assert rows
    assert [row["workload"] for row in rows if row["to_tuned"] <= 1] == []
