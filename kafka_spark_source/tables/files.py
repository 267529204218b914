"""Folders as Hadoop sees them, wherever they are. A look at one costs no job of Spark."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is a file or a folder.

    Raises:
        Py4JJavaError: The storage cannot be reached.
    """
    files, named = _folder(spark, path)
    return bool(files.exists(named))


def files_in(spark: SparkSession, path: str) -> list[str]:
    """The names of the files in a folder and in all folders below it.

    Raises:
        Py4JJavaError: There is no such folder, or the storage cannot be reached.
    """
    files, named = _folder(spark, path)
    listed, names = files.listFiles(named, True), []
    while listed.hasNext():
        names.append(str(listed.next().getPath().getName()))
    return names


def remove(spark: SparkSession, path: str) -> None:
    """Remove a folder with all that is in it.

    Raises:
        Py4JJavaError: The storage refuses.
    """
    files, named = _folder(spark, path)
    files.delete(named, True)


def _folder(spark: SparkSession, path: str) -> tuple[Any, Any]:
    jvm: Any = spark._jvm
    named = jvm.org.apache.hadoop.fs.Path(path)
    return named.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()), named
