"""Which test runs the Python and SQL of a page, in the order of the page."""

from __future__ import annotations

from typing import Final

# Pages in `docs` that `test_guides.py` runs without anything of their own.
GUIDES: Final = (
    *("index.md", "reading.md", "streaming.md", "tables.md", "writing.md", "exactly-once.md"),
    *("performance.md", "operations.md", "debezium.md", "clusters.md", "api.md", "migrating.md"),
    *("reliability.md", "troubleshooting.md", "platforms/index.md"),
)
# The others, from the root of the project.
ELSEWHERE: Final = {
    "README.md": "integration/test_examples.py",
    "docs/arrow.md": "integration/test_examples.py",
    "docs/change-data.md": "change_data/test_page.py",
    "docs/dead-letters.md": "integration/test_examples.py",
    "docs/formats.md": "integration/test_guides.py",
    "docs/get-started.md": "integration/test_get_started.py",
    "docs/platforms/brokers.md": "pages/test_options_of_pages.py",
    "docs/platforms/databricks.md": "pages/test_options_of_pages.py",
    "docs/schema-evolution.md": "integration/test_examples.py",
    "docs/security.md": "pages/test_options_of_pages.py",
    "docs/sql.md": "integration/test_sql.py",
    "docs/testing.md": "integration/test_pasted_test.py",
    "docs/topics-to-tables.md": "change_data/test_topics_page.py",
    "docs/upstream/arrow-pandas.md": "test_worker_imports.py",
    "docs/upstream/spark-first-entry.md": "integration/test_stream_crashes.py",
}
