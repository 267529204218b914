"""Builds sdist and wheel into dist/, checks them, and tries the wheel as users will.

    make dist

The wheel is built from the sdist, and installed into two venvs in build/dist: `alone`, without
PySpark, for the protocol half and for the SBOM, and `spark`, for the ten lines of the README. Both
run against a real broker, without this repository in their path.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from kafka_spark_source.testing import CONVENIENT, KafkaCluster
from kafka_spark_source.version import __version__

ROOT: Final = Path(__file__).parents[2]
DIST: Final = ROOT / "dist"
BUILD: Final = ROOT / "build" / "dist"
SBOM: Final = BUILD / f"pyspark-pykafka-{__version__}.cdx.json"
# build, twine and so on have a venv of their own.
TOOLS: Final = ROOT / ".venv-dist" / "bin"
LIMIT_SECONDS: Final = 900
# What the ten lines print.
ROWS: Final = {("ann", "2 pears"), ("bob", "1 plum")}


def main() -> None:
    for folder in (DIST, BUILD):
        shutil.rmtree(folder, ignore_errors=True)
    wheel = build()
    alone = installed("alone", str(wheel))
    spark = installed("spark", f"{wheel}[spark,broker]")
    write_sbom(alone)
    with KafkaCluster(config=CONVENIENT, start_timeout=LIMIT_SECONDS) as kafka:
        try_protocol_alone(alone, kafka.bootstrap_servers)
        try_readme(spark, kafka.bootstrap_servers)
        run(spark.with_name("pykafka"), "doctor", "-b", kafka.bootstrap_servers, "--read", "orders")
    say(f"ready: {wheel.name}, its sdist, and {SBOM.relative_to(ROOT)}")


def build() -> Path:
    """Build both, check them, and return the wheel."""
    say("building sdist and wheel")
    run(TOOLS / "python", "-m", "build", "--installer", "uv", "--outdir", DIST, ROOT)
    (wheel,) = DIST.glob("*.whl")
    (sdist,) = DIST.glob("*.tar.gz")
    assert wheel.name == f"pyspark_pykafka-{__version__}-py3-none-any.whl", wheel
    run(TOOLS / "twine", "check", "--strict", wheel, sdist)
    run(TOOLS / "check-wheel-contents", wheel)
    return wheel


def installed(name: str, requirement: str) -> Path:
    """A new venv with a requirement and nothing else, not even pip; returns its Python."""
    say(f"installing the wheel into {name}")
    run(TOOLS / "uv", "venv", "--quiet", "--python", sys.executable, BUILD / name)
    python = BUILD / name / "bin" / "python"
    run(TOOLS / "uv", "pip", "install", "--quiet", "--python", python, requirement)
    return python


def write_sbom(python: Path) -> None:
    """The CycloneDX SBOM of the wheel and of what it depends on."""
    run(
        *(TOOLS / "cyclonedx-py", "environment", "--validate", "--output-reproducible"),
        *("--pyproject", ROOT / "pyproject.toml", "--output-file", SBOM, python),
    )
    bom = json.loads(SBOM.read_text())
    # Not in pyproject.toml.
    bom["metadata"]["component"]["version"] = __version__
    SBOM.write_text(json.dumps(bom, indent=2) + "\n")


def try_protocol_alone(python: Path, servers: str) -> None:
    say("the protocol half without PySpark")
    print(run(python, "-I", Path(__file__).with_name("protocol_alone.py"), servers))


def try_readme(python: Path, servers: str) -> None:
    say("the ten lines of the README")
    script = BUILD / "ten_lines.py"
    script.write_text(ten_lines().replace("localhost:9092", servers))
    shown = run(python, "-I", script)
    lines = {tuple(cell.strip() for cell in line.split("|")) for line in shown.splitlines()}
    assert {row[1:3] for row in lines if len(row) > 3} >= ROWS, shown


def ten_lines() -> str:
    """The first Python code of the README."""
    code = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    assert code is not None
    return code[1]


def run(*command: object) -> str:
    """Run a command outside of the repository; end with its output if it fails."""
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=BUILD if BUILD.exists() else ROOT,
        env=os.environ | {"PYSPARK_PYTHON": str(command[0]), "UV_PYTHON_DOWNLOADS": "never"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    if ended.returncode:
        sys.exit(f"{ended.stdout}\n{' '.join(map(str, command))} ended with {ended.returncode}")
    return ended.stdout


def say(text: str) -> None:
    print(f"--- {text}", flush=True)


if __name__ == "__main__":
    main()
