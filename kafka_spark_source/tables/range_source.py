"""`pykafka_ranges`: a stream of offset ranges, planned as by `pykafka`, not read.

A micro-batch has one row for each range, all in one task, so its cost does not grow with records.
`records` reads the ranges. Only `topics_to_tables` uses this source: it registers it in a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.types import StructType

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import KafkaError
from kafka_spark_source.options.read import parse_stream_options
from kafka_spark_source.planning.batch import Parts
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.source import KafkaDataSource, RefusedStreamReader, stream_reader_class
from kafka_spark_source.tables.ranges import to_row
from kafka_spark_source.worker.errors import hide_traceback

if TYPE_CHECKING:
    import pyarrow as pa


class KafkaRanges(KafkaDataSource):
    """The offset ranges of each micro-batch; `ranges.COLUMNS` are its columns.

    Options: as for a streaming read of `pykafka`. It must be loaded with the schema.
    """

    @classmethod
    def name(cls) -> str:
        """The name for `format()`."""
        return "pykafka_ranges"

    @hide_traceback()
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of the stream."""
        try:
            options = parse_stream_options(self.options)
            config = ClientConfig.from_options(options.kafka)
        except KafkaError as error:
            return RefusedStreamReader(error)
        together = replace(options, parts=Parts(are_together=True))
        return stream_reader_class()(together, config, schema, reads=RangesAsRows())


@dataclass(frozen=True, slots=True)
class RangesAsRows:
    """Gives planned ranges instead of their records."""

    def read(self, _cluster: Cluster, planned: Sequence[PlannedRange]) -> Iterator[pa.RecordBatch]:
        """One batch with a row for each range."""
        import pyarrow as pa  # noqa: PLC0415

        types = (pa.string(), pa.int32(), pa.int64(), pa.int64(), pa.string())
        names = ("topic", "partition", "from_offset", "until_offset", "topic_id")
        schema = pa.schema([*zip(names, types, strict=True)])
        rows = [dict(zip(names, to_row(each), strict=True)) for each in planned]
        yield pa.RecordBatch.from_pylist(rows, schema)
