"""The data source on Sail, a Spark Connect server without a JVM. Sail finds it by an entry point.

Sail's schemas are Arrow's, and it compares each batch with the schema of the source. It does not
number tasks, and does not run streams of Python data sources. Tested with pysail 0.7.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from pyspark.sql.datasource import DataSourceReader, DataSourceWriter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.columns.arrow_types import to_arrow_schema
from kafka_spark_source.options.read import parse_batch_options
from kafka_spark_source.options.write import parse_write_options
from kafka_spark_source.source import KafkaDataSource

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql.datasource import Filter

_NOT_ON_SAIL: Final = (
    "{} needs Apache Spark. On Sail, pykafka reads batches, and writes batches at least once."
)


class SailDataSource(KafkaDataSource):
    """`format("pykafka")` on Sail: batch reads, and batch writes at least once.

    Features that Sail lacks are refused, as far as the source can notice them (docs/sail.md).
    """

    def schema(self) -> pa.Schema:
        """The columns of a read. Sail's own conversion of Spark's types fails for timestamps."""
        return to_arrow_schema(super().schema())  # point: sail-types

    def reader(self, schema: pa.Schema) -> DataSourceReader:
        """Return the reader of a batch.

        Options of streams are refused here; in a batch read of Spark they have no effect.

        Raises:
            KafkaConfigError: An option is for streams; and as from `KafkaDataSource.reader`.
        """
        for name in parse_batch_options(self.options).ignored:
            _refuse(f"The option '{name}'")  # point: sail-streams
        return _SailReader(super().reader(from_arrow_schema(schema)), schema)

    def writer(self, schema: pa.Schema, overwrite: bool) -> DataSourceWriter:
        """Return the writer of a batch.

        Raises:
            KafkaConfigError: The write asks for exactly once; and as from `KafkaDataSource.writer`.
        """
        if parse_write_options(self.options).exactly_once is not None:
            _refuse("The option 'deliveryGuarantee' with the value 'exactly_once'")
        return super().writer(from_arrow_schema(schema), overwrite)

    def streamReader(self, schema: pa.Schema) -> NoReturn:  # noqa: ARG002
        """Refuse a streaming read.

        Raises:
            KafkaConfigError: Always.
        """
        _refuse("A stream")

    def streamWriter(self, schema: pa.Schema, overwrite: bool) -> NoReturn:  # noqa: ARG002
        """Refuse a streaming write.

        Raises:
            KafkaConfigError: Always.
        """
        _refuse("A stream")


def _refuse(what: str) -> NoReturn:
    raise KafkaConfigError(_NOT_ON_SAIL.format(what))


class _SailReader(DataSourceReader):
    """A batch reader whose batches have the schema that Sail handed over.

    It can have another time zone, and other names for the items of lists.
    """

    def __init__(self, reader: DataSourceReader, schema: pa.Schema) -> None:
        self._reader = reader
        self._schema = schema

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        return self._reader.pushFilters(filters)

    def partitions(self) -> Sequence[InputPartition]:
        return self._reader.partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for batch in self._reader.read(partition):
            # point: sail-schema
            yield batch.cast(self._schema)  # type: ignore[union-attr]
