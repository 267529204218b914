"""Sessions of Spark and of Sail in processes and venvs of their own, which take turns."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.session_process import Query, Ran, Ready
from tests.jvm_connector import PYSPARK

ROOT = Path(__file__).parents[1]
VENVS = {"pyspark": f".venv-spark-{PYSPARK}", "pysail": ".venv-sail"}


class Session:
    """A process of `session_process`.

    Args:
        kind: "pyspark" or "pysail".
        conf: The settings of a session of Spark; those of all benchmarks unless given.

    Attributes:
        version: The version of Spark or of Sail in it.
        server: The process of its JVM; of one without a JVM, its own.
    """

    def __init__(self, kind: str, conf: Mapping[str, str] | None = None) -> None:
        arguments = [] if conf is None else [json.dumps(dict(conf))]
        python = ROOT / VENVS[kind] / "bin" / "python"
        self._started = time.perf_counter()
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.session_process", kind, *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.version, self.server = Ready(*self._response())

    def run(self, query: Query) -> Ran:
        """Run a query to its end."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(query._replace(options=dict(query.options))) + "\n")
        self._process.stdin.flush()
        return Ran(*self._response())

    def age(self) -> float:
        """Seconds since the process was started."""
        return time.perf_counter() - self._started

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def _response(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit("A session ended early: run its module by hand to see why")
        return json.loads(line)
