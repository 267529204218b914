"""What a query keeps beside its checkpoint: files with one line of JSON, which has a version.

Spark writes and reads them, so they work wherever a checkpoint does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.tables.checkpoint import NO_PATH, read_lines

_T = TypeVar("_T")


@dataclass(frozen=True)
class Kept(Generic[_T]):
    """One kind of files.

    Attributes:
        name: What a file has, for errors.
        version: The version of its form.
        read: Makes the value of the content, and raises as one does whose content is wrong.
        cure: What to do about a file that cannot be read, for errors.
    """

    name: str
    version: int
    read: Callable[[Any], _T]
    cure: str

    def write(self, spark: SparkSession, path: str, content: Mapping[str, Any]) -> None:
        """Write a file, in the place of an older one.

        Raises:
            PySparkException: It cannot be written.
        """
        line = json.dumps({"version": self.version, **content})
        rows = spark.createDataFrame([(line,)], "value string").coalesce(1)
        rows.write.mode("overwrite").text(path)

    def values(self, spark: SparkSession, path: str) -> list[_T]:
        """The value of a file; none if there is no file, or its write was cut off.

        Raises:
            KafkaConfigError: It has another content.
            PySparkException: It cannot be read.
        """
        try:
            lines = read_lines(spark, path)
        except PySparkException as error:
            if NO_PATH in str(error):  # another run may have just removed it
                return []
            raise
        return [self._value(each, path) for each in lines]

    def _value(self, line: str, path: str) -> _T:
        try:
            content = json.loads(line)
            if content["version"] != self.version:
                written = content["version"]
                raise ValueError(f"the version is {written!r}, not {self.version}")  # noqa: TRY301
            return self.read(content)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise KafkaConfigError(
                f"{path} has no {self.name} ({type(error).__name__}: {error}). Was it written by a "
                f"newer version? Else {self.cure}"
            ) from error
