"""Folders as Hadoop sees them."""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from kafka_spark_source.tables.files import exists, files_in, remove

pytestmark = pytest.mark.spark


def test_a_folder_is_seen_listed_and_removed(spark: SparkSession, tmp_path: Path) -> None:
    # The characters mean something in patterns, and in addresses.
    folder = tmp_path / "a[1] {b}%20#c"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "one.txt").touch()
    (folder / "two").touch()
    path = str(folder)
    assert exists(spark, path)
    assert sorted(files_in(spark, path)) == ["one.txt", "two"]
    remove(spark, path)
    assert not exists(spark, path)
    assert not folder.exists()
    with pytest.raises(Py4JJavaError):
        files_in(spark, path)


def test_a_place_that_is_not_known(spark: SparkSession) -> None:
    with pytest.raises(Py4JJavaError, match="nowhere"):
        exists(spark, "nowhere://a/b")
