"""The pipeline `examples/auto_cdc`, on a server of Spark Connect whose tables take it.

No release of Delta or Iceberg has tables that AUTO CDC takes, so they are those of Spark's own
tests: in memory, for as long as the server runs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.change_data.jars import ROW_LEVEL, find
from tests.jobs import connect_rows
from tests.own_process import ROOT, outputs_of, processes_of, run_command, start
from tests.standalone import SPARK_BIN, daemon, wait_for_text

PIPELINE: Final = ROOT / "examples" / "auto_cdc"
WITH_HISTORY: Final = {"stored_as_scd_type=1": "stored_as_scd_type=2"}
"""The change of the program by which tables have all versions of their rows."""
_CATALOG: Final = (
    "org.apache.spark.sql.connector.catalog.SharedTablesInMemoryRowLevelOperationTableCatalog"
)


class PipelineServer:
    """A server of Spark Connect, and the runs of the pipeline on it."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder

    def rows(self, *statements: str) -> list[dict[str, Any]]:
        """The rows of the last statement."""
        command = [sys.executable, str(connect_rows.__file__), self._url, *statements]
        found: list[dict[str, Any]] = json.loads(
            run_command(self._folder, command).splitlines()[-1]
        )
        return found

    def create(self, database: str) -> None:
        """Create a database of the catalog `lake`.

        Its sessions share tables only: without one, another session would not have the database.
        """
        create = f"CREATE TABLE lake.{database}.known_to_all_sessions (id int)"
        self.rows(f"CREATE SCHEMA lake.{database}", create, "SELECT 1")

    def project(self, database: str, catalog: str = "lake", **changed: str) -> Path:
        """A copy of the pipeline for another database; returns its specification.

        Args:
            database: The database of its tables.
            catalog: The catalog of its tables.
            changed: Pieces of the program's text, and what stands there instead.
        """
        folder = self._folder / database
        shutil.copytree(PIPELINE, folder)
        spec = folder / "spark-pipeline.yml"
        lines = {
            "catalog: lake": f"catalog: {catalog}",
            "database: shop": f"database: {database}",
            "/tmp/pykafka-auto-cdc": str(folder / "storage"),
        }
        spec.write_text(_replaced(spec.read_text(), lines))
        self.change(spec, changed)
        return spec

    def change(self, spec: Path, changed: Mapping[str, str]) -> None:
        """Replace pieces of the program's text."""
        program = spec.parent / "transformations" / "shop.py"
        program.write_text(_replaced(program.read_text(), changed))

    def run(self, spec: Path, servers: str) -> tuple[int, str]:
        """Run the pipeline once; the exit code, and all that it printed."""
        command = [str(SPARK_BIN / "spark-pipelines"), "--remote", self._url]
        command += ["run", "--spec", str(spec)]
        environment = {"KAFKA_SERVERS": servers}
        pipe = subprocess.PIPE
        with start(command, spec.parent, environment, stdout=pipe, stderr=pipe) as process:
            out, errors = outputs_of(process)
        assert not processes_of(process.pid)
        return process.returncode, out + errors


@contextmanager
def pipeline_server(
    folder: Path, jars: Sequence[Path] = (), settings: Mapping[str, str] = {}
) -> Iterator[PipelineServer]:
    """Starts a server with the catalog `lake`; `jars` and `settings` are more of both."""
    all_jars = [*find(ROW_LEVEL).glob("*.jar"), *jars]
    all_settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalog.lake": _CATALOG,
        **settings,
    }
    arguments = ["--master", "local[2]", "--jars", ",".join(map(str, all_jars))]
    for name, value in all_settings.items():
        arguments += ["--conf", f"{name}={value}"]
    arguments += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    with daemon(folder, "spark-submit", *arguments, "spark-internal") as printed:
        port = wait_for_text(printed, r"Connect server started at: \S+:(\d+)")
        yield PipelineServer(f"sc://127.0.0.1:{port}", folder)


def _replaced(text: str, changed: Mapping[str, str]) -> str:
    for old, new in changed.items():
        assert old in text, old
        text = text.replace(old, new)
    return text
