"""What pages promise about loss, order, duplicates, times and secrets, and which test holds it.

Text only. `make docs` writes the table in docs/reliability.md. `tests/test_promises.py` checks that
the words are those of the page, that the tests exist, and that no sentence with words of a promise
is in neither list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from docs.markdown import row

# Words of promises. A sentence that has one is in one of the lists.
WORDS: Final = re.compile(
    r"\b(?:never|no (?:record|row|gap)s?|nothing is (?:lost|dropped)|los(?:es|t) no|not a gap"
    r"|each record once|every record arrives|in order|in the order of|without duplicates|twice"
    r"|always|silently)\b",
    re.IGNORECASE,
)
# Pages that are made of code, or measure, or tell of other projects.
WITHOUT_PROMISES: Final = frozenset(
    (
        *("options.md", "option-names.md", "benchmarks.md", "cli.md", "errors.md", "faults.md"),
        *("design.md", "design-files.md", "design-formats.md", "design-kafka.md"),
        *("design-spark.md", "performance.md", "reliability.md", "index.md"),
    )
)


class Promise(NamedTuple):
    """Words of a page in `docs`, and the tests that hold them."""

    page: str
    words: str
    tests: tuple[str, ...]


PROMISES: Final = (
    # --- Reads
    Promise(
        "reading.md",
        "Each record of the range arrives once, in the order of its partition.",
        ("tests/integration/test_batch.py", "tests/endurance/torture", "tests/simulation"),
    ),
    Promise(
        "reading.md",
        "A damaged batch is always an error, never a gap.",
        (
            "tests/protocol/client/consumer/test_fetch_together.py::"
            "test_fault_31_a_damaged_batch_leaves_its_range",
        ),
    ),
    Promise(
        "troubleshooting.md",
        "pykafka never skips it silently.",
        (
            "tests/protocol/records/test_fetch_response.py::"
            "test_fault_31_a_damaged_last_offset_hides_no_batch",
        ),
    ),
    Promise(
        "arrow.md",
        "They are read one after the other, each once and in the order of its offsets.",
        ("tests/integration/test_topic.py",),
    ),
    Promise(
        "arrow.md",
        "is an exception that names topic, partition and offset, never a gap.",
        ("tests/integration/test_topic.py", "tests/simulation"),
    ),
    Promise(
        "arrow.md",
        "a topic that was deleted or created again, a log that was cut, and records that were "
        "deleted before they were read are an exception, never a gap.",
        ("tests/protocol/client/consumer/test_read_topics.py",),
    ),
    # --- Streams
    Promise(
        "streaming.md",
        "With an idempotent sink (files, Delta) every record arrives exactly once.",
        ("tests/integration/test_stream_crashes.py", "tests/endurance/torture/copies"),
    ),
    Promise(
        "streaming.md",
        "so it never reads a re-created topic at offsets of the old one.",
        ("tests/spark/reading/test_range_reader.py::test_a_re_created_topic_is_not_read",),
    ),
    Promise(
        "migrating.md",
        "No record is read twice or skipped.",
        ("tests/conformance/test_moving.py",),
    ),
    Promise(
        "migrating.md",
        "its records never count as records of the old topic",
        (
            "tests/protocol/client/consumer/test_topic_identity.py::"
            "test_fault_24_the_topic_was_re_created_since_planning",
        ),
    ),
    # --- Writes
    Promise(
        "writing.md",
        "At least once; each task writes each record once, in the order of its rows.",
        ("tests/integration/test_stream_write_faults.py", "tests/simulation"),
    ),
    Promise(
        "writing.md",
        "a batch that it sends again after a lost response is in the log once and in order",
        ("tests/protocol/client/producer", "tests/integration/test_write_faults.py"),
    ),
    Promise(
        "exactly-once.md",
        "A reader of committed records sees each micro-batch **once, as a whole, with each task's "
        "rows in order**, and no rows of a micro-batch that failed.",
        ("tests/integration/test_exactly_once_kills.py", "tests/simulation"),
    ),
    Promise(
        "exactly-once.md",
        "Such a reader sees either all rows of a batch write or no row.",
        ("tests/integration/test_exactly_once.py",),
    ),
    Promise(
        "exactly-once.md",
        "no row is visible; the next run ends the open transactions and writes the micro-batch "
        "again",
        ("tests/integration/test_exactly_once_kills.py",),
    ),
    Promise(
        "exactly-once.md",
        "There a client that uses an epoch for two transactions shows rows twice, and pykafka "
        "does not.",
        ("tests/simulation/test_late_requests.py",),
    ),
    Promise(
        "exactly-once.md",
        "Two jobs with one prefix fence each other: both fail with a message that names the "
        "transactional id, and no row is lost.",
        (
            "tests/spark/writing/test_exactly_once.py::"
            "test_fault_56_and_57_a_fenced_transaction_was_committed",
        ),
    ),
    Promise(
        "operations.md",
        "The producer is idempotent: a retry writes no record twice.",
        ("tests/protocol/client/producer/test_producer.py",),
    ),
    # --- Formats, tables, dead letters
    Promise(
        "formats.md",
        "A value is never rounded: it is exact, or its payload is broken.",
        (
            "tests/formats/protobuf/test_decimals.py::test_values_are_exact_or_broken",
            "tests/formats/arrow/test_decimals.py",
        ),
    ),
    Promise(
        "schema-evolution.md",
        "no row lacks a value of its payload.",
        ("tests/formats/suite/test_evolution.py", "tests/integration/test_examples.py"),
    ),
    Promise(
        "dead-letters.md",
        "If the registry does not respond, no record is broken: the task fails, and writes "
        "nothing.",
        ("tests/spark/reading/test_dead_letters.py",),
    ),
    Promise(
        "dead-letters.md",
        "So a task that succeeds has lost no record.",
        ("tests/spark/reading/test_dead_letters.py", "tests/simulation"),
    ),
    Promise(
        "dead-letters.md",
        "If the topic cannot be written, the task fails and the error names the record; nothing is "
        "dropped.",
        ("tests/spark/reading/test_dead_letters.py",),
    ),
    Promise(
        "dead-letters.md",
        "A reason never contains the registry's credentials.",
        ("tests/formats/registry/test_credentials.py::test_a_repeated_secret_is_hidden",),
    ),
    Promise(
        "tables.md",
        "with `DROPMALFORMED` its key has no row, not even an older one.",
        ("tests/spark/reading/test_upsert.py", "tests/simulation"),
    ),
    Promise(
        "tables.md",
        "In a stream each micro-batch has the newest record of each key among its own records, "
        "always with tombstones.",
        ("tests/integration/test_upsert.py", "tests/simulation"),
    ),
    Promise(
        "topics-to-tables.md",
        "No type becomes narrower, no column is dropped, and no value is cast with a loss, also if "
        "another program altered the table.",
        ("tests/spark/tables/test_growth.py", "tests/change_data/test_tables_grow.py"),
    ),
    Promise(
        "topics-to-tables.md",
        "A micro-batch that runs again, after a crash at whatever moment, changes nothing in the "
        "tables that have it, and writes the others.",
        ("tests/change_data/test_topics_to_tables.py", "tests/simulation/test_lake.py"),
    ),
    Promise(
        "topics-to-tables.md",
        "A crash does no harm: with or without the argument the next start goes on, and each "
        "record is in the table once.",
        ("tests/change_data/test_backfill.py", "tests/simulation/test_lake.py"),
    ),
    # --- Secrets
    Promise(
        "security.md",
        "**TLS 1.2 or newer, always**; never a fallback to plaintext.",
        ("tests/integration/test_security.py::test_tls_to_a_plaintext_listener",),
    ),
    Promise(
        "security.md",
        "**The value does not travel.**",
        ("tests/spark/test_source.py::test_what_tasks_get_has_references_and_no_values",),
    ),
    Promise(
        "security.md",
        "with its zone as `kafka.client.rack` it [reads from the replica in this zone]",
        ("tests/integration/test_zones.py",),
    ),
    Promise(
        "security.md",
        "A refusal is final, with",
        ("tests/protocol/client/broker/test_refusals.py::test_a_wrong_password_is_sent_once",),
    ),
    Promise(
        "security.md",
        "never appear in a log, an error, a `repr` or the output of `df.explain(True)`.",
        ("tests/secret_check.py", "tests/protocol/auth/test_secret.py"),
    ),
    Promise(
        "troubleshooting.md",
        "logs never contain a payload or a password.",
        ("tests/secret_check.py", "tests/test_secret_check.py"),
    ),
)

# Beginnings or parts of sentences with such words that promise nothing, or a loss, by page.
OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "arrow.md": ("another attempt writes them twice",),
    "change-data.md": (
        "the stream is killed twice",
        "the event has no row",
        "If no row has the value",
    ),
    "clusters.md": ("in four partitions, twice",),
    "debezium.md": ("no row; the log has their number",),
    "exactly-once.md": (
        "they see no record after the first one of an open transaction",
        "it was never reported as done",
        "two jobs that write the same rows write them twice",
    ),
    "formats.md": ("first the fields of `allOf`, in order", "a field that is there twice"),
    "get-started.md": ("write without duplicates",),
    "migrating.md": ("silently dropped", "as you always do", "there and back twice"),
    "operations.md": (
        "which would count records twice",
        "records would never be read",
        "which the query itself never reads",
    ),
    "schema-evolution.md": ("`restart` never stops at an older version",),
    "security.md": ("What is never shown",),
    "streaming.md": (
        "by twice that if tasks were reading it",
        "A partition that was never read counts from offset 0",
        "If a query reads a partition twice",
    ),
    "topics-to-tables.md": ("Each record once", "Producers change schemas twice"),
    "troubleshooting.md": ("records twice after a failure",),
    "writing.md": (
        "a batch whose response was lost may be written twice",
        "is nearly always worth it",
    ),
}


def sentences(text: str) -> Iterator[str]:
    """The sentences, items and cells of a page, without its blocks of code."""
    prose = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    for part in re.split(r"\n\s*\n|\n(?=\s*[-*] |\s*\d+\. |\|)", prose):
        cells = part.split("|") if part.startswith("|") else [part]
        for cell in cells:
            yield from re.split(r"(?<=[.!?]) +(?=[A-Z`*\[])", " ".join(cell.split()))


def promise_table() -> str:
    """The rows of the table in docs/reliability.md."""
    head = row("promise", "page", "tested by") + row("---", "---", "---")
    rows = [
        row(
            each.words,
            f"[{each.page.removesuffix('.md')}]({each.page})",
            ", ".join(f"`{test}`" for test in each.tests),
        )
        for each in PROMISES
    ]
    return "".join([head, *rows])
