"""The pages whose Python the tests run. A page whose code no test runs says so."""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.integration.example_processes import ROOT, python_in


class Guide(NamedTuple):
    """What a page needs.

    Attributes:
        page: Its name in `docs`.
        blocks: How many blocks of Python it has.
        left_out: The start of blocks that are run elsewhere, or show only a part of a call.
    """

    page: str
    blocks: int
    left_out: tuple[str, ...] = ()


GUIDES: Final = (
    Guide("index.md", 1),
    Guide("reading.md", 1),
    Guide("streaming.md", 4),
    Guide("tables.md", 5),
    Guide("writing.md", 2),
    Guide("exactly-once.md", 1),
    Guide("performance.md", 2),
    Guide("operations.md", 1),
    Guide("debezium.md", 1),
    # test_thin_client.py and test_pipelines.py
    Guide("clusters.md", 3, ("spark = SparkSession.builder.remote(", "@dp.table")),
    Guide("api.md", 6),
)
# Pages whose code other tests run.
ELSEWHERE: Final = {
    "arrow.md": "integration/test_examples.py",
    "change-data.md": "integration/test_examples.py",
    "dead-letters.md": "integration/test_examples.py",
    "formats.md": "integration/test_guides.py",
    "get-started.md": "integration/test_get_started.py",
    "sail.md": "integration/sail/test_sail.py",
    "schema-evolution.md": "integration/test_examples.py",
    "sql.md": "integration/test_sql.py",
    "testing.md": "integration/test_pasted_test.py",
    "upstream/arrow-pandas.md": "test_worker_imports.py",
    "upstream/spark-first-entry.md": "integration/test_stream_crashes.py",
}


def blocks_of(page: str) -> list[str]:
    """The blocks of Python of a page in `docs`."""
    return python_in((ROOT / "docs" / page).read_text())
