"""Folders as Hadoop sees them."""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from kafka_spark_source.tables.files import exists, listed, remove

pytestmark = pytest.mark.spark


def test_a_folder_is_seen_listed_and_removed(spark: SparkSession, tmp_path: Path) -> None:
    # The characters mean something in patterns, and in addresses.
    folder = tmp_path / "a[1] {b}%20#c"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "one.txt").touch()
    (folder / "two").touch()
    path = str(folder)
    assert exists(spark, path)
    assert listed(spark, path) == (["two", "inner/one.txt"], ["inner"])
    with pytest.raises(Py4JJavaError):  # not empty
        remove(spark, path, ["two", "inner", ""])
    remove(spark, path, ["inner/one.txt", "inner", ""])
    assert not exists(spark, path)
    assert not folder.exists()
    with pytest.raises(Py4JJavaError):
        listed(spark, path)


def test_a_place_that_is_not_known(spark: SparkSession) -> None:
    with pytest.raises(Py4JJavaError, match="nowhere"):
        exists(spark, "nowhere://a/b")
