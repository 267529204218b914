"""`topics_to_tables`: many topics into tables of Delta or Iceberg, by one streaming query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.options.read import parse_stream_options
from kafka_spark_source.reading.assignment import resolve
from kafka_spark_source.tables.arguments import DEFAULT_METADATA, Arguments, check_lists, parse
from kafka_spark_source.tables.backfill import Backfills
from kafka_spark_source.tables.backfill_plan import check_read, plan_backfills
from kafka_spark_source.tables.backfiller import Backfiller
from kafka_spark_source.tables.micro_batch import TablesOfMicroBatch
from kafka_spark_source.tables.names import Names
from kafka_spark_source.tables.progress import PlannedTable, Progress, TableProgress
from kafka_spark_source.tables.provider import check_provider
from kafka_spark_source.tables.range_source import KafkaRanges
from kafka_spark_source.tables.ranges import COLUMNS
from kafka_spark_source.tables.report import metrics, plan_text, progress_text
from kafka_spark_source.tables.run import Run, end_run_before, starting
from kafka_spark_source.tables.session import isolated
from kafka_spark_source.tables.sizes import Size, size_of
from kafka_spark_source.tables.writer import TableWriter

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_EVERY_MINUTE: Final = {"processingTime": "1 minute"}


def topics_to_tables(  # noqa: PLR0913 - each is an option of the user, with a default
    spark: SparkSession,
    options: Mapping[str, object],
    table: str | Callable[[str], str] | Callable[[str, str], str],
    *,
    provider: str = "delta",
    rows: str | Mapping[str, str] | Callable[[str], str] = "append",
    keys: object = None,
    topic_options: object = None,
    merge_options: object = None,
    metadata: Sequence[str] = DEFAULT_METADATA,
    partition_by: Sequence[str] = (),
    cluster_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    on_error: str = "fail",
    threads: int = 4,
) -> TopicsToTables:
    """Topics as tables of Delta or Iceberg, which make themselves and grow.

    One streaming query reads all topics, also topics that match later. Each micro-batch is one
    commit for each table that has new records. A micro-batch that runs again after a crash changes
    nothing in tables that have it.

    Args:
        spark: The session. It needs the jars and the extension of the provider.
        options: As for `spark.readStream.format("pykafka")`: brokers, topics, formats, registry.
        table: The name of a topic's table: a text with `{topic}`, or a function of the topic. With
            `{type}`, or as a function of topic and record type, it names a table for each record
            type (`value.subjects`), whose full name it gets.
        provider: `delta` or `iceberg`.
        rows: What records are: `append`, a row each; `upsert`, the row of their key; `changes`,
            Debezium's events. For all topics, or topic -> one of them, or a function of the topic.
        keys: With `upsert` and `changes`: the columns of the key, by default the fields of the
            records' keys. A list for all topics, or topic -> a list, or a function of the topic.
        topic_options: More options for a topic: topic -> options, or a function of the topic.
        merge_options: With `upsert` and `changes`: arguments of `apply_changes` for a topic, such
            as `sequence_by`, `topic_ids` or `history`: topic -> arguments, or a function.
        metadata: With `append`: the columns that tables get in addition to the values'.
        partition_by: Expressions for PARTITIONED BY of tables that are made.
        cluster_by: Columns for CLUSTER BY of tables that are made.
        properties: Properties of tables that are made.
        on_error: `fail`: a table that cannot be written fails the query, after all others were
            written. `suspend`: it waits, and is tried again after a minute, then ever more rarely,
            and at the next start; all others go on.
        threads: How many tables are written at a time.

    Raises:
        KafkaConfigError: An argument is wrong.

    Example:
        >>> options = {"kafka.bootstrap.servers": "localhost:9092", "subscribePattern": "shop.*"}
        >>> query = topics_to_tables(  # doctest: +SKIP
        ...     spark, {**options, "startingOffsets": "earliest"}, "lake.shop.{topic}"
        ... ).start("/data/checkpoints/shop")
    """
    if "connect" in type(spark).__module__:
        raise KafkaConfigError(
            "topics_to_tables does not work over Spark Connect: run it in a classic session, e.g. "
            "with spark-submit"
        )
    arguments = parse(
        *(options, table, provider, rows),
        keys=keys,
        topic_options=topic_options,
        merge_options=merge_options,
        metadata=metadata,
        partition_by=partition_by,
        cluster_by=cluster_by,
        properties=properties or {},
        on_error=on_error,
        threads=threads,
    )
    return TopicsToTables(spark, arguments)


class TopicsToTables:
    """Topics and how they become tables. Nothing happens before `start`."""

    def __init__(self, spark: SparkSession, arguments: Arguments) -> None:
        self._spark = spark
        self._arguments = arguments

    def __repr__(self) -> str:
        return f"<TopicsToTables {self._arguments!r}>"

    def plan(self) -> list[PlannedTable]:
        """What a start would do first: the statements for the table of each topic that exists.

        Nothing is executed, and no record is read.

        Raises:
            KafkaError: No broker can be reached, or an option is wrong.
        """
        check_provider(self._spark, self._arguments.layout.provider)
        writer, spark = TableWriter(self._arguments), isolated(self._spark)
        return [each for topic in self._topics() for each in writer.plan(spark, topic)]

    def show_plan(self) -> None:
        """Print `plan()` as a table."""
        print(plan_text(self.plan()), end="")  # noqa: T201 - as DataFrame.show does

    def start(
        self,
        checkpoint: str,
        *,
        trigger: Mapping[str, Any] = _EVERY_MINUTE,
        name: str | None = None,
        backfill: Sequence[str] = (),
    ) -> TablesQuery:
        """Start the query.

        Tables that were suspended when the query ended are tried first.

        Args:
            checkpoint: The checkpointLocation, for this query alone.
            trigger: The arguments of Spark's `trigger`, by default `processingTime="1 minute"`.
            name: The query's name.
            backfill: Topics whose table, if it does not exist, is filled with all records that the
                topic has, beside the query; else it gets only what is after the query's position.

        Raises:
            TableError: A topic's table has no name that can be, or the name of another one's.
            KafkaError: No broker can be reached, or an option is wrong.
        """
        if not checkpoint.strip():
            raise KafkaConfigError("checkpoint is empty: give the path of this query's own folder")
        if not isinstance(trigger, Mapping):
            raise KafkaConfigError(
                f"trigger must be the arguments of Spark's trigger as a mapping, e.g. "
                f'{{"availableNow": True}} or {{"processingTime": "1 minute"}}, not {trigger!r}'
            )
        check_lists({"backfill": backfill})
        check_provider(self._spark, self._arguments.layout.provider)
        names, topics = Names(self._arguments.table_of), self._topics()
        check_read(backfill, topics)
        for topic in topics:
            self._arguments.rows_of(topic)
            # Record types are known when schemas are found, for the first write.
            if not self._arguments.table_of.has_types:
                names.of(topic)
        with starting(checkpoint.rstrip("/")):
            return self._start(checkpoint, trigger, name, backfill)

    def _start(
        self,
        checkpoint: str,
        trigger: Mapping[str, Any],
        name: str | None,
        backfill: Sequence[str],
    ) -> TablesQuery:
        """Start the checked query."""
        progress, run, folder = Progress(), Run(), checkpoint.rstrip("/")
        end_run_before(self._spark, folder)
        own = isolated(self._spark)
        plan_backfills(own, self._arguments, folder, backfill)
        batches = TablesOfMicroBatch(self._arguments, checkpoint, progress, run)
        batches.catch_up(own)
        self._spark.dataSource.register(KafkaRanges)
        ranges = (
            self._spark.readStream.format(KafkaRanges.name())
            .schema(COLUMNS)
            .options(**self._arguments.options)
            .load()
        )
        writer = ranges.writeStream.foreachBatch(batches).trigger(**trigger)
        writer = writer.option("checkpointLocation", checkpoint)
        query = (writer.queryName(name) if name else writer).start()
        backfiller = Backfiller(own, self._arguments, Backfills(checkpoint), run, progress)
        run.begun(str(query.id))
        backfiller.start(query, to_the_end=bool({"availableNow", "once"} & {*trigger}))
        provider = self._arguments.layout.provider
        return TablesQuery(
            *(query, progress, backfiller, run), lambda table: size_of(own, table, provider)
        )

    def _topics(self) -> list[str]:
        """The topics that exist now, sorted."""
        options = parse_stream_options(self._arguments.options)
        cluster = Cluster(ClientConfig.from_options(options.kafka))
        try:
            deadline = Deadline.after(cluster.config.api_timeout_ms)
            existing = resolve(cluster, options.strategy, deadline).existing
        finally:
            cluster.close()
        return sorted({each.topic for each in existing})


class TablesQuery:
    """A query that runs.

    Attributes:
        query: Spark's handle of it: `isActive`, `lastProgress`.
    """

    def __init__(
        self,
        query: StreamingQuery,
        progress: Progress,
        backfiller: Backfiller,
        run: Run,
        size_of: Callable[[str], Size],
    ) -> None:
        self.query = query
        self._size_of = size_of
        self._progress = progress
        self._backfiller = backfiller
        self._run = run

    def __repr__(self) -> str:
        return f"<TablesQuery {self.query.id}, {len(self.tables())} tables>"

    def awaitTermination(self, timeout: int | None = None) -> bool | None:
        """Wait until the query has ended, as Spark's own method does, and all backfills of the run.

        Args:
            timeout: How long to wait, in seconds; None for as long as it takes.

        Returns:
            Whether the query has ended; None without a timeout.

        Raises:
            TableError: Tables could not be written; the text says which ones, and why.
            StreamingQueryException: The query failed otherwise.
        """
        deadline = None if timeout is None else Deadline.after(timeout * 1000)
        try:
            ended = self.query.awaitTermination(timeout)
        except StreamingQueryException:
            # Spark's text has ours after a traceback of its own.
            self._backfiller.stop()
            if self._progress.failure is None:
                raise
        if self._progress.failure is None and ended is not False:
            left = None if deadline is None else deadline.remaining_ms / 1000
            has_filled = self._backfiller.join(left)
            ended = None if ended is None else has_filled
        if self._progress.failure is not None:
            raise self._progress.failure.with_traceback(None)
        return ended

    def stop(self) -> None:
        """Stop the query and its backfills, and wait for the tables that are being written.

        Spark's own `stop` does not wait: a table that is dropped then may get files again.

        Raises:
            TableError: Tables are still being written after ten minutes.
        """
        self._backfiller.stop()
        self.query.stop()
        self._run.end()

    def tables(self) -> list[TableProgress]:
        """The tables that this run has had to do with, sorted by topic."""
        return self._progress.tables()

    def sizes(self) -> dict[str, Size]:
        """Topic -> how many files its tables have, and how large: when to compact them.

        Raises:
            PySparkException: A table cannot be read.
        """
        return {
            each.topic: Size(*map(sum, zip(*map(self._size_of, each.tables), strict=True)))
            for each in self.tables()
            if each.tables
        }

    def show(self, *, files: bool = False) -> None:
        """Print `tables()` as a table; with `files` also `sizes()`, which asks each table."""
        sizes = self.sizes() if files else None
        print(progress_text(self.tables(), sizes), end="")  # noqa: T201 - as DataFrame.show does

    def metrics(self) -> str:
        """`tables()` in Prometheus' text format, for `kafka_spark_source.prometheus`."""
        return metrics(self.tables())
