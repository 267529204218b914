"""A query with two sources into files, whose checkpoint has version 2 of the offset log.

From PySpark 4.2 on, sources can have names (SPARK-54423). The log then has the name of a source
before its offset, and the sources may come in any order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from tests.spark_session import settings
from tests.stream_folder import StreamFolder
from tests.stream_records import Journal, Offsets, expect_each_once

since_4_2: Final = pytest.mark.skipif(
    not hasattr(DataStreamReader, "name"), reason="PySpark below 4.2 has no named sources"
)

_CONFIG: Final = {
    "spark.sql.streaming.offsetLog.formatVersion": "2",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
}


@contextmanager
def source_evolution(spark: SparkSession) -> Iterator[None]:
    """New queries of the session have named sources, and version 2 of the offset log."""
    with settings(spark, _CONFIG):
        yield


class NamedSources:
    """A query over topics with two partitions, each read by a source with a name."""

    def __init__(self, spark: SparkSession, servers: str, folder: Path) -> None:
        self._spark = spark
        self._servers = servers
        self._checkpoint = folder / "checkpoint"
        self._folder = StreamFolder(folder)
        self._journal = Journal(servers)

    def run(self, connector: str, sources: Mapping[str, str]) -> None:
        """Write records to each topic, and continue until all are read, each once.

        Args:
            connector: The format of all sources.
            sources: Name -> topic, in the order in which the query unites them.
        """
        for topic in sources.values():
            self._journal.write(topic, [0, 1], 5)
        first, *others = (self._load(connector, *source) for source in sources.items())
        for other in others:
            first = first.union(other)
        query = self._folder.start(first)
        try:
            query.processAllAvailable()
        finally:
            query.stop()
        expect_each_once(self._folder.records(self._spark), self._journal, {})
        ends = self._journal.ends()
        assert self._logged() == {name: {topic: ends[topic]} for name, topic in sources.items()}

    def _load(self, connector: str, name: str, topic: str) -> DataFrame:
        reader = self._spark.readStream.format(connector).name(name)
        options = {"subscribe": topic, "startingOffsets": "earliest"}
        return reader.options(**{"kafka.bootstrap.servers": self._servers, **options}).load()

    def _logged(self) -> dict[str, Offsets]:
        """The offsets of each source at the end of the last micro-batch."""
        last = self._folder.batches()[-1]
        version, _, *lines = (self._checkpoint / "offsets" / f"{last}").read_text().splitlines()
        assert version == "v2"
        named = dict(line.split(":", 1) for line in lines)
        return {
            name: {
                topic: {int(partition): offset for partition, offset in partitions.items()}
                for topic, partitions in json.loads(text).items()
            }
            for name, text in named.items()
        }
