"""`pykafka precompile`, and Spark's processes afterwards."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest

from kafka_spark_source import cli
from tests.own_process import run_command

SPARK_HOME = Path(pyspark.__file__).parent
LIB = Path("python", "lib")
# The file of PySpark in a task, and in the process that plans a read.
SCRIPT = """
import json
import pyspark
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from tests.spark_session import run_session

class Planned(DataSource):
    def schema(self):
        return "planned string, task string"

    def reader(self, schema):
        return Reader()

class Reader(DataSourceReader):
    def partitions(self):
        return [InputPartition(pyspark.__file__)]

    def read(self, partition):
        yield partition.value, pyspark.__file__

for spark in run_session("precompiled"):
    spark.dataSource.register(Planned)
    (row,) = spark.read.format("Planned").load().collect()
    print(json.dumps([row.planned, row.task]))
"""


@pytest.fixture
def spark_home(tmp_path: Path) -> Path:
    """Spark's folder with an archive of its own, which has sources only."""
    home = tmp_path / "spark"
    lib, installed = home / LIB, SPARK_HOME / LIB
    lib.mkdir(parents=True)
    for each in [*SPARK_HOME.iterdir(), *installed.glob("py4j-*.zip")]:
        if each.name != LIB.parts[0]:
            (home / each.relative_to(SPARK_HOME)).symlink_to(each)
    with ZipFile(installed / "pyspark.zip") as old, ZipFile(lib / "pyspark.zip", "w") as new:
        for name in old.namelist():
            if not name.endswith(".pyc"):
                new.writestr(name, old.read(name))
    return home


@pytest.mark.spark
@pytest.mark.slow
def test_sparks_processes_import_bytecode(
    spark_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["precompile", "--spark-home", str(spark_home)]) == 0
    shown = capsys.readouterr().out
    assert f"has bytecode of Python {platform.python_version()} now" in shown
    printed = run_command(tmp_path, [sys.executable, "-c", SCRIPT], SPARK_HOME=str(spark_home))
    archive = spark_home / LIB / "pyspark.zip"
    expected = str(archive / "pyspark" / "__init__.pyc")
    assert json.loads(printed.splitlines()[-1]) == [expected, expected]
    assert cli.main(["precompile", "--spark-home", str(spark_home)]) == 0
    assert "already" in capsys.readouterr().out


def test_a_folder_without_spark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["precompile", "--spark-home", str(tmp_path)]) == 1
    assert "pyspark.zip" in capsys.readouterr().err
