"""The data source: its name and schema, and who reads and writes. Begin reading here.

Spark calls these methods in a Python worker of the driver. Options are checked at `load()` and
`save()`, before a query starts and before any broker is asked.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import NoReturn

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.errors import one_sentence
from kafka_spark_source.options.read import (
    BatchReadOptions,
    ReadOptions,
    StreamReadOptions,
    parse_batch_options,
    parse_stream_options,
)
from kafka_spark_source.options.table import OPTIONS, STREAM_ONLY, Table, Use
from kafka_spark_source.options.write import parse_write_options
from kafka_spark_source.reading.batch_reader import FilteringBatchReader, KafkaBatchReader
from kafka_spark_source.schema import check_projection, check_sink_schema, source_schema
from kafka_spark_source.streaming.reader_40 import PlainStreamReader
from kafka_spark_source.streaming.stream_reader import KafkaStreamReader
from kafka_spark_source.writing.batch_writer import KafkaBatchWriter
from kafka_spark_source.writing.delivery import AtLeastOnce, Delivery
from kafka_spark_source.writing.exactly_once import ExactlyOnce, claim
from kafka_spark_source.writing.row_writer import RowWriter
from kafka_spark_source.writing.stream_writer import KafkaStreamWriter

_STRATEGIES = {Table.SUBSCRIBE.key, Table.SUBSCRIBE_PATTERN.key, Table.ASSIGN.key}
_ONLY_FOR_WRITES = {row.key for row in OPTIONS if row.uses == {Use.WRITE}}


class KafkaDataSource(DataSource):
    """Kafka for PySpark, without a jar.

    Name: `pykafka`

    Schema: `key binary, value binary, topic string, partition int, offset long,
    timestamp timestamp, timestampType int`, and with `includeHeaders`
    `headers array<struct<key:string,value:binary>>`. A schema that the user gives is a
    projection: any of these columns, in any order; what it leaves out is not decoded.

    Options: docs/options.md lists them; names, defaults and meanings are those of Spark's own
    Kafka connector.

    Examples:
        >>> df = (  # doctest: +SKIP
        ...     spark.read.format("pykafka")
        ...     .option("kafka.bootstrap.servers", "localhost:9092")
        ...     .option("subscribe", "orders")
        ...     .load()
        ... )
        >>> (  # doctest: +SKIP
        ...     df.selectExpr("key", "value")
        ...     .write.format("pykafka")
        ...     .option("kafka.bootstrap.servers", "localhost:9092")
        ...     .option("topic", "copy-of-orders")
        ...     .mode("append")
        ...     .save()
        ... )
    """

    # A stream's tasks are planned with a source that was just made; one that came from another
    # process commits what they wrote.
    _has_travelled = False

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _has_travelled=True)

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        # With a schema of the user's, nothing else of ours runs before there is a plan.
        names = {name.lower() for name in options}
        if names & _STRATEGIES and not names & _ONLY_FOR_WRITES:
            self._check_read()

    @classmethod
    def name(cls) -> str:
        """What `format()` takes."""
        return "pykafka"

    def schema(self) -> StructType:
        """The columns of a read, as Spark's own connector names and orders them."""
        return source_schema(self._check_read().include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Read a batch. `schema` is the user's where there is one, so a projection."""
        options, config = self._batch_options()
        with one_sentence():
            check_projection(schema, options.include_headers)
            if not options.push_down_predicate:
                return KafkaBatchReader(options, config, schema)
            if not hasattr(DataSourceReader, "pushFilters"):
                raise KafkaConfigError(
                    "Option 'pushDownPredicate' needs PySpark 4.1 or newer: remove it."
                )
        return FilteringBatchReader(options, config, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Write a batch."""
        with one_sentence():
            if overwrite:
                raise KafkaConfigError(
                    "Save mode Overwrite not allowed for Kafka. Allowed save mode is Append: "
                    "call .mode('append')"
                )
            return KafkaBatchWriter(self._delivery(schema, plans_tasks=True))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Read a stream. `schema` is as for `reader`."""
        try:
            options = parse_stream_options(self.options)
            config = ClientConfig.from_options(options.kafka)
            check_projection(schema, options.include_headers)
        except KafkaConfigError as error:
            return _RefusedStreamReader(error)
        return _stream_reader_class()(options, config, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002
        """Write a stream. In the output mode `complete` each result is appended as a whole."""
        with one_sentence():
            return KafkaStreamWriter(self._delivery(schema, plans_tasks=not self._has_travelled))

    def _delivery(self, schema: StructType, plans_tasks: bool) -> Delivery:
        options = parse_write_options(self.options)
        columns = check_sink_schema(schema, options.topic)
        config = ClientConfig.from_options(options.kafka)
        rows = RowWriter(columns, options.topic, options.partitioner, config)
        if options.exactly_once is None:
            return AtLeastOnce(rows)
        claimed = claim(config, options.exactly_once) if plans_tasks else None
        return ExactlyOnce(rows, options.exactly_once, claimed)

    def _batch_options(self) -> tuple[BatchReadOptions, ClientConfig]:
        with one_sentence():
            options = parse_batch_options(self.options)
            return options, ClientConfig.from_options(options.kafka)

    def _check_read(self) -> ReadOptions:
        """The options of a read of either kind: at `load()` Spark does not say which it will be."""
        with one_sentence():
            try:
                options: ReadOptions = parse_batch_options(self.options)
            except KafkaConfigError as error:
                options = self._stream_options_or(error)
            ClientConfig.from_options(options.kafka)
            return options

    def _stream_options_or(self, error: KafkaConfigError) -> StreamReadOptions:
        try:
            return parse_stream_options(self.options)
        except KafkaConfigError as streams_error:
            given = {name.lower() for name in self.options}
            is_stream = not given.isdisjoint(map(str.lower, STREAM_ONLY))
            raise (streams_error if is_stream else error) from None


def _stream_reader_class() -> type[KafkaStreamReader]:
    if not hasattr(DataSourceStreamReader, "getDefaultReadLimit"):
        return PlainStreamReader
    from kafka_spark_source.streaming.reader_42 import LimitedStreamReader  # noqa: PLC0415

    return LimitedStreamReader


class _RefusedStreamReader(DataSourceStreamReader):
    """Says why a stream cannot be read, as soon as Spark asks it for anything.

    What `streamReader()` itself raises, Spark hides behind an error of its own.
    """

    def __init__(self, reason: KafkaConfigError) -> None:
        self._reason = reason

    def _refuse(self, *_arguments: object) -> NoReturn:
        with one_sentence():
            raise self._reason

    getDefaultReadLimit = prepareForTriggerAvailableNow = initialOffset = _refuse
    latestOffset = partitions = read = _refuse  # type: ignore[assignment]
