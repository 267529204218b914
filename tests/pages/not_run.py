"""The one table of statements on pages that no test runs, each with its reason.

Each is still held against what there is: Python is compiled, SQL goes through Spark's parser, the
arguments of commands through `pykafka`'s.
"""

from __future__ import annotations

from fnmatch import fnmatch
from typing import Final, NamedTuple

from tests.pages.statements import Kind, Statement


class NotRun(NamedTuple):
    """Statements that no test runs.

    Attributes:
        page: A pattern of pages.
        start: What the statements begin with.
        reason: Why they cannot run, or what runs the same.
        kinds: What they are.
    """

    page: str
    start: str
    reason: str
    kinds: tuple[Kind, ...] = (Kind.PYTHON, Kind.SQL, Kind.CALL, Kind.EXPRESSION)


_COMMAND: Final = (Kind.COMMAND,)
_RUN_IN_TESTS: Final = "test_operations_page.py and the tests of each command run it"
_INSTALLS: Final = "it changes an environment: tests/release and tests/venvs.py install the wheel"

NOT_RUN: Final = (
    # --- Python -------------------------------------------------------------------------------
    NotRun("docs/clusters.md", "spark = ", "a server of Spark Connect: test_thin_client.py"),
    NotRun("docs/change-data.md", "@dp.", "pipelines: integration/test_auto_cdc.py runs them"),
    NotRun("docs/clusters.md", "@dp.table", "a pipeline: test_pipelines.py runs the example"),
    NotRun("docs/platforms/fabric.md", "password = notebookutils", "of Fabric"),
    NotRun("docs/security.md", "dbutils", "of Databricks"),
    NotRun("docs/security.md", "df.explain", "the tour of docs/reliability.md runs it"),
    NotRun("docs/sail.md", "from pysail", "in a process with Sail: sail/test_sail.py"),
    NotRun("docs/sail.md", "from kafka_spark_source.sail", "sail/test_sail.py registers it"),
    NotRun("docs/upstream/arrow-view-cast.md", "", "it takes 6 GiB of memory"),
    NotRun("docs/upstream/sail.md", "pa.array", "of a report about another project"),
    NotRun("docs/upstream/sail.md", "coalesce", "sail/test_sail.py has the case"),
    NotRun("docs/upstream/spark-arrow-writer.md", "", "Java, of a report about another project"),
    NotRun("docs/design*.md", "", "names of functions of the project's own, and of Spark's"),
    NotRun("docs/tables.md", "MERGE", "on Delta: tests/change_data/test_page.py"),
    # --- SQL ----------------------------------------------------------------------------------
    NotRun("docs/sql.md", "SELECT * FROM pykafka.`orders`", "Spark refuses it, as the page says"),
    NotRun("docs/sql.md", "CREATE TABLE t USING", "with Delta: tests/change_data/test_sql.py"),
    # --- Command lines ------------------------------------------------------------------------
    NotRun("README.md", "pykafka broker", "fixed ports, or old brokers: test_brokers.py", _COMMAND),
    NotRun("*", "pykafka broker", "test_broker_lifecycle.py, on ports of its own", _COMMAND),
    NotRun("*", "pykafka registry", "test_registry_lifecycle.py, on ports of its own", _COMMAND),
    NotRun("*", "pykafka", _RUN_IN_TESTS, _COMMAND),
    NotRun("*", "START=$(pykafka", _RUN_IN_TESTS, _COMMAND),
    NotRun("*", "make", "what it starts is tested by itself, or takes long", _COMMAND),
    NotRun("*", "pip", _INSTALLS, _COMMAND),
    NotRun("*", "%pip", _INSTALLS, _COMMAND),
    NotRun("*", "job/bin/", "test_standalone_cluster.py packs an environment", _COMMAND),
    NotRun("*", "export", "sets a variable of a shell", _COMMAND),
    NotRun("*", "cp", "test_standalone_cluster.py sends the wheel under this name", _COMMAND),
    NotRun("*", "echo", _RUN_IN_TESTS, _COMMAND),
    NotRun("*", "printf", _RUN_IN_TESTS, _COMMAND),
    NotRun("*", "python -m venv", _INSTALLS, _COMMAND),
    NotRun("*", "python -m pip", _INSTALLS, _COMMAND),
    NotRun(
        "*", "python -m tests", "part of `make test-all`, or writes files of the tree", _COMMAND
    ),
    NotRun("*", "python -m benchmarks", "a measurement", _COMMAND),
    NotRun(
        "*", "python -m kafka_spark_source.testing.downloads.lock", "asks Maven Central", _COMMAND
    ),
    NotRun("*", "python -m http.server", "serves for ever", _COMMAND),
    NotRun("*", "python examples/", "test_examples.py and test_pipelines.py", _COMMAND),
    NotRun("*", "python -c", "a name of a kind of start", _COMMAND),
    NotRun("*", ".venv/bin/python -m pytest", "it runs the tests", _COMMAND),
    NotRun("docs/testing.md", "pytest -q test_orders.py", "test_pasted_test.py", _COMMAND),
    NotRun("*", "benchmarks/stream.py", "a measurement", _COMMAND),
    NotRun("docs/upstream/*", "PYTHONPATH=", "of a report about another project", _COMMAND),
    NotRun("*", "grep", "test_faults.py holds the names of tests", _COMMAND),
    NotRun("*", "spark-submit", "test_standalone_cluster.py submits jobs in these ways", _COMMAND),
    NotRun("*", "spark-pipelines", "test_pipelines.py and test_auto_cdc.py", _COMMAND),
    NotRun("*", "sail", "sail/test_sail.py starts the server in its process", _COMMAND),
    NotRun("*", "kafka-topics.sh", "of Kafka's own tools", _COMMAND),
    NotRun("*", "keytool", "Java's tool, on files of the user", _COMMAND),
    NotRun("*", "openssl", "asks for passwords, on files of the user", _COMMAND),
    NotRun("*", "gcloud", "a cloud's own command", _COMMAND),
    NotRun("*", "aws", "a cloud's own command", _COMMAND),
    NotRun("docs/platforms/databricks.md", "dbutils", "of Databricks", _COMMAND),
)


def row_for(statement: Statement) -> NotRun | None:
    """The first row of the table with a statement."""
    return next((each for each in NOT_RUN if _has(each, statement)), None)


def _has(row: NotRun, statement: Statement) -> bool:
    return (
        statement.kind in row.kinds
        and fnmatch(statement.page, row.page)
        and statement.text.startswith(row.start)
    )
