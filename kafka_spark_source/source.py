"""The data source: its name, its schema, its readers and writers. Begin reading here.

Spark calls these methods in a Python worker of the driver. Options are checked at `load()` and
`save()`, before a query starts and before any request is sent. Each method imports the package
that it needs: Spark loads this module in several new processes before a first query, and most of
them only look for the name and the schema.
"""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from kafka_formats.options.option import Use
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.references import resolved_option
from kafka_protocol.errors import KafkaConfigError, KafkaError
from kafka_spark_source.columns.catalog_table import (
    check_write_names_brokers,
    options_for,
    options_of_new_table,
    with_kept_options,
    with_options,
)
from kafka_spark_source.columns.payloads import ReadPayloads, encoder_of
from kafka_spark_source.options.names import CLIENT_PREFIX
from kafka_spark_source.options.read import (
    BatchReadOptions,
    ReadOptions,
    StreamReadOptions,
    parse_batch_options,
    parse_stream_options,
)
from kafka_spark_source.options.table import OPTIONS, STREAM_ONLY, Table
from kafka_spark_source.options.write import parse_write_options
from kafka_spark_source.schema import check_sink_schema
from kafka_spark_source.worker.errors import hide_traceback
from kafka_spark_source.worker.worker import set_session_mark

if TYPE_CHECKING:
    from kafka_formats.query.stage import Stage
    from kafka_spark_source.streaming.stream_reader import KafkaStreamReader
    from kafka_spark_source.writing.delivery import Delivery

_log = logging.getLogger(__name__)

_STRATEGIES = {Table.SUBSCRIBE.key, Table.SUBSCRIBE_PATTERN.key, Table.ASSIGN.key}
_ONLY_FOR_WRITES = {row.key for row in OPTIONS if row.uses == {Use.WRITE}}


class KafkaDataSource(DataSource):
    """Kafka for PySpark, without a jar.

    Name: `pykafka`

    Schema: `key binary, value binary, topic string, partition int, offset long,
    timestamp timestamp, timestampType int`, and with `includeHeaders`
    `headers array<struct<key:string,value:binary>>`, with an envelope or `includeTopicId`
    `topicId string`. A user's schema is a projection: any of these columns, in any order. Other
    columns are not decoded.

    Options: docs/options.md lists them; names, defaults and meanings are as in Spark's own
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

    # Spark plans a streaming write with a new source, and commits with an unpickled copy of it.
    _is_unpickled = False

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _is_unpickled=True)

    @hide_traceback()
    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._created = options_of_new_table(options)
        if self._created:
            options = options_for(self._created, Use.BATCH_READ)
        super().__init__(options)
        # With a user's schema Spark does not call `schema()`, the other place of this check.
        names = {name.lower() for name in options}
        if names & _STRATEGIES and not names & _ONLY_FOR_WRITES:
            self._check_read()

    @classmethod
    def name(cls) -> str:
        """The name for `format()`."""
        return "pykafka"

    @hide_traceback()
    def schema(self) -> StructType:
        """The columns of a read, with the names and the order of Spark's own connector.

        The types of decoded keys and values come from the schemas that a registry has now.
        """
        columns = ReadPayloads(self._check_read()).columns()
        return with_options(columns, self._created) if self._created else columns

    @hide_traceback()
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch. `schema` is the user's projection if there is one."""
        from kafka_spark_source.reading.batch_reader import (  # noqa: PLC0415
            FilteringBatchReader,
            KafkaBatchReader,
        )

        options, config = self._batch_options(schema)
        stages = _stages(options, config, schema)
        if not options.push_down_predicate:  # point: two-readers
            return KafkaBatchReader(options, config, schema, stages)
        if options.envelope.debezium.prefix:
            # A table may have a column `offset`, which a filter then means.
            raise KafkaConfigError(
                "Options 'pushDownPredicate' and 'debezium.prefix' contradict each other: keep one."
            )
        if not hasattr(DataSourceReader, "pushFilters"):
            raise KafkaConfigError(
                "Option 'pushDownPredicate' needs PySpark 4.1 or newer: remove it."
            )
        return FilteringBatchReader(options, config, schema, stages)

    @hide_traceback()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of a batch."""
        from kafka_spark_source.writing.batch_writer import KafkaBatchWriter  # noqa: PLC0415

        if overwrite:
            raise KafkaConfigError(
                "Save mode Overwrite not allowed for Kafka. Allowed save mode is Append: "
                "call .mode('append'), or in SQL write INSERT INTO"
            )
        return KafkaBatchWriter(self._delivery(schema, plans_tasks=True))

    @hide_traceback()
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream. `schema` is as for `reader`."""
        try:
            given = with_kept_options(self.options, schema, Use.STREAM_READ)
            options = _with_group(parse_stream_options(given))
            config = ClientConfig.from_options(options.kafka)
            stages = _stages(options, config, schema)
        except KafkaError as error:
            return RefusedStreamReader(error)  # point: refused-stream
        _warn_of_argument(options.argument, "load()", Table.SUBSCRIBE.name)
        return stream_reader_class()(options, config, schema, stages)

    @hide_traceback()
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002
        """Return the writer of a stream. Output mode `complete` appends each complete result."""
        from kafka_spark_source.writing.stream_writer import KafkaStreamWriter  # noqa: PLC0415

        return KafkaStreamWriter(self._delivery(schema, plans_tasks=not self._is_unpickled))

    def _delivery(self, schema: StructType, *, plans_tasks: bool) -> Delivery:
        """Check the options.

        If this `plans_tasks`, the brokers are asked too, and an exactly-once write takes its prefix
        over.
        """
        from kafka_protocol.arrow_io.row_writer import RowWriter  # noqa: PLC0415
        from kafka_spark_source.writing.delivery import AtLeastOnce  # noqa: PLC0415

        check_write_names_brokers(self.options)
        options = parse_write_options(self.options)
        encoded = [] if options.formats is None else options.formats.encoded_columns
        columns = check_sink_schema(schema, options.topic, encoded, options.argument)
        config = ClientConfig.from_options(options.kafka)
        encoder = encoder_of(options, columns, schema)
        if plans_tasks:
            from kafka_spark_source.writing.driver_check import check_write  # noqa: PLC0415

            _warn_of_argument(options.argument, "save() and start()", Table.TOPIC.name)
            check_write(config, options.topic)
        rows = RowWriter(columns, options.topic, options.partitioner, config, encoder)
        if options.exactly_once is None:
            return AtLeastOnce(rows)
        from kafka_spark_source.writing.exactly_once import ExactlyOnce, claim_prefix  # noqa: PLC0415

        # point: claim-travels
        claimed = claim_prefix(config, options.exactly_once) if plans_tasks else None
        return ExactlyOnce(rows, options.exactly_once, claimed)

    def _batch_options(self, schema: StructType) -> tuple[BatchReadOptions, ClientConfig]:
        options = parse_batch_options(with_kept_options(self.options, schema, Use.BATCH_READ))
        _warn_of_argument(options.argument, "load()", Table.SUBSCRIBE.name)
        return options, ClientConfig.from_options(options.kafka)

    def _check_read(self) -> ReadOptions:
        """The options of a batch or a stream: at `load()` Spark does not say which of the two."""
        try:
            options: ReadOptions = parse_batch_options(self.options)
        except KafkaConfigError as error:
            options = self._stream_options_or(error)  # point: batch-or-stream
        # Only the reader knows whether the group has an effect, which it has in streams.
        client = {name: value for name, value in options.kafka.items() if name != "group.id"}
        ClientConfig.from_options(client)
        return options

    def _stream_options_or(self, error: KafkaConfigError) -> StreamReadOptions:
        try:
            return parse_stream_options(self.options)
        except KafkaConfigError as streams_error:
            given = {name.lower() for name in self.options}
            is_stream = not given.isdisjoint(map(str.lower, STREAM_ONLY))
            raise (streams_error if is_stream else error) from None


def _with_group(options: StreamReadOptions) -> StreamReadOptions:
    """The options with the name of the group, which the client's configuration does not have.

    Raises:
        KafkaConfigError: It has a reference without a value.
    """
    if options.group_id is None:
        return options
    group_id = resolved_option("group.id", options.group_id, options.kafka, CLIENT_PREFIX)
    return replace(options, group_id=group_id)


def _warn_of_argument(argument: str | None, call: str, option: str) -> None:
    """Warn, once in a session, that Spark's path does not name a topic."""
    if argument is not None and set_session_mark(f"argument-of-{option}"):
        _log.warning(
            "The argument %r of %s has no effect: the option '%s' names topics.",
            argument,
            call,
            option,
        )


def _stages(options: ReadOptions, config: ClientConfig, schema: StructType) -> tuple[Stage, ...]:
    """The stages that make rows of the records of a read.

    Raises:
        KafkaError: As from `ReadPayloads.stages`.
    """
    put_aside = None
    if options.dead_letter_topic is not None:
        from kafka_spark_source.reading.dead_letters import DeadLetters  # noqa: PLC0415

        put_aside = DeadLetters(options.dead_letter_topic, config).write
    return ReadPayloads(options).stages(schema, put_aside)


def stream_reader_class() -> type[KafkaStreamReader]:
    """The class of streaming readers for this release of PySpark."""
    if not hasattr(DataSourceStreamReader, "getDefaultReadLimit"):
        from kafka_spark_source.streaming.reader_40 import KafkaStreamReader40  # noqa: PLC0415

        return KafkaStreamReader40
    from kafka_spark_source.streaming.reader_42 import KafkaStreamReader42  # noqa: PLC0415

    return KafkaStreamReader42


class RefusedStreamReader(DataSourceStreamReader):
    """Raises the error of a streaming read from the first method that Spark calls.

    If `streamReader()` itself raised it, Spark would hide it with an error of its own.
    """

    def __init__(self, reason: KafkaError) -> None:
        self._reason = reason

    @hide_traceback()
    def _refuse(self, *_arguments: object) -> NoReturn:
        raise self._reason

    getDefaultReadLimit = prepareForTriggerAvailableNow = initialOffset = _refuse
    latestOffset = partitions = read = _refuse  # type: ignore[assignment]
