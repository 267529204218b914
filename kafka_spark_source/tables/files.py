"""Folders as Hadoop sees them, wherever they are. A look at one costs no job of Spark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is a file or a folder.

    Raises:
        Py4JJavaError: The storage cannot be reached.
    """
    files, named = _folder(spark, path)
    return bool(files.exists(named))


def listed(spark: SparkSession, path: str) -> tuple[list[str], list[str]]:
    """The files and the folders below a folder, by their paths in it; a folder before its own.

    Raises:
        Py4JJavaError: There is no such folder, or the storage cannot be reached.
    """
    files, root = _folder(spark, path)
    names, folders, left = [], [], [(root, "")]
    while left:
        folder, prefix = left.pop()
        for each in files.listStatus(folder):
            name = f"{prefix}{each.getPath().getName()}"
            if each.isDirectory():
                folders.append(name)
                left.append((each.getPath(), f"{name}/"))
            else:
                names.append(name)
    return names, folders


def remove(spark: SparkSession, path: str, names: Iterable[str]) -> None:
    """Remove files, and folders that are empty then, by their paths in a folder; "" is itself.

    Raises:
        Py4JJavaError: The storage refuses, or somebody has put a file into one of the folders.
    """
    files, root = _folder(spark, path)
    jvm: Any = spark._jvm
    for name in names:
        files.delete(jvm.org.apache.hadoop.fs.Path(root, name) if name else root, False)


def _folder(spark: SparkSession, path: str) -> tuple[Any, Any]:
    jvm: Any = spark._jvm
    named = jvm.org.apache.hadoop.fs.Path(path)
    return named.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()), named
