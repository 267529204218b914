"""The records of given ranges as a DataFrame, decoded on the executors.

A batch read of one topic without its planning: ranges come from the stream, so no broker is asked
on the driver, and the schemas of payloads are found once for many micro-batches. Options, columns
and stages are as for `spark.read.format("pykafka")`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from kafka_formats.options.settings import SchemaEvolution
from kafka_formats.options.table import KEY, VALUE
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.columns.payloads import ReadPayloads
from kafka_spark_source.options.read import BatchReadOptions, parse_batch_options
from kafka_spark_source.options.table import Table
from kafka_spark_source.planning.splitting import split
from kafka_spark_source.reading.input_partition import (
    KafkaInputPartition,
    ReadsRanges,
    range_reader_of,
    read_partition,
)
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.reading.size_hints import hints_for
from kafka_spark_source.tables.arguments import OF_THE_STREAM

if TYPE_CHECKING:
    import pyarrow as pa


class TopicRecords:
    """The records of a topic, with the newest schemas at its creation: found once for all reads.

    Raises:
        KafkaError: An option is wrong, or a schema cannot be found.
    """

    def __init__(self, options: Mapping[str, str], topic: str) -> None:
        self._options = _parsed(options_for(options, topic))
        self._config = ClientConfig.from_options(self._options.kafka)
        self._payloads = ReadPayloads(self._options)
        self._columns = self._payloads.columns()
        self._members = self._payloads.types_of_members()

    def types(self) -> Mapping[str, str]:
        """The record types: full name -> field of the value. Empty unless the options name several.

        A type without fields has no such field.

        Raises:
            KafkaError: A schema cannot be found.
        """
        return self._payloads.record_types()

    def read(
        self,
        columns: Sequence[str] | None = None,
        fields: Sequence[str] | None = None,
        *,
        puts_aside: bool = True,
    ) -> TopicRead:
        """How they become rows.

        Args:
            columns: The columns to read; None for all.
            fields: The fields of the value to read, if it is a struct; None for all.
            puts_aside: Whether broken records go to the topic for dead letters, if the options name
                one. Else they are only left out.

        Raises:
            KafkaError: A schema cannot be found.
        """
        schema = self._columns
        if columns is not None:
            schema = T.StructType([each for each in schema if each.name in columns])
        if fields is not None:
            schema = _with_fields(schema, fields)
        put_aside = None
        if puts_aside and self._options.dead_letter_topic is not None:
            from kafka_spark_source.reading.dead_letters import DeadLetters  # noqa: PLC0415

            put_aside = DeadLetters(self._options.dead_letter_topic, self._config).write
        stages = self._payloads.stages(schema, put_aside)
        reader = range_reader_of(self._options, schema, stages)
        return TopicRead(schema, self._options, self._members, self._config, reader)


@dataclass(frozen=True, slots=True)
class TopicRead:
    """How the records of a topic become rows.

    Attributes:
        schema: The columns of the rows.
        options: The checked options.
        members: Path of a struct -> the types of its fields `member0`, `member1`.
        config: The client's configuration.
        reader: What tasks do with their ranges.
    """

    schema: T.StructType
    options: BatchReadOptions
    members: Mapping[str, Sequence[str]]
    config: ClientConfig
    reader: ReadsRanges

    def frame(self, spark: SparkSession, ranges: Sequence[PlannedRange]) -> DataFrame:
        """The rows of the ranges: the same ones whenever they are computed.

        Raises:
            KafkaError: From tasks; names topic, partition, offset and broker.
        """
        tasks = [*self._tasks(ranges)]
        numbers = spark.range(0, len(tasks), 1, max(len(tasks), 1))
        return numbers.mapInArrow(partial(_read, self.reader, self.config, tasks), self.schema)

    def _tasks(self, ranges: Sequence[PlannedRange]) -> Iterator[list[PlannedRange]]:
        """The ranges of each task. A task reads one topic of a name, not its successor too."""
        parts = self.options.parts
        for topic_id in dict.fromkeys(each.topic_id for each in ranges):
            wanted = [each.wanted for each in ranges if each.topic_id == topic_id]
            if parts.must_split(len(wanted)):
                wanted = split(wanted, parts.at_least, parts.max_records)
            cluster = Cluster(self.config)
            try:
                deadline = Deadline.after(self.config.api_timeout_ms)
                tasks = parts.tasks_of(wanted, partial(hints_for, cluster, deadline))
            finally:
                cluster.close()
            yield from ([PlannedRange(each, topic_id) for each in task] for task in tasks)


def _with_fields(schema: T.StructType, fields: Sequence[str]) -> T.StructType:
    """A schema whose value has some of its fields."""
    value = schema["value"].dataType
    kept = T.StructType([e for e in value if e.name in fields])  # type: ignore[attr-defined]
    return T.StructType(
        [T.StructField(each.name, kept) if each.name == "value" else each for each in schema]
    )


def options_for(options: Mapping[str, str], topic: str) -> dict[str, str]:
    """The options of a batch read of one topic, out of a stream's of several."""
    kept = {name: text for name, text in options.items() if name.lower() not in OF_THE_STREAM}
    return {**kept, Table.SUBSCRIBE.name: topic}


def _parsed(options: Mapping[str, str]) -> BatchReadOptions:
    """The options, with `schema.evolution=exact` where it is possible and nothing else is given.

    Then a schema that the columns cannot hold stops the tasks before a value is lost. If it is a
    newer one, the read is planned anew.
    """
    given = {name.lower() for name in options}
    evolving = [each.evolution for each in (VALUE, KEY) if each.evolution.key not in given]
    for number in range(2 ** len(evolving)):
        added = {
            each.name: SchemaEvolution.EXACT.value
            for index, each in enumerate(evolving)
            if not number >> index & 1
        }
        try:
            return parse_batch_options({**options, **added})
        except KafkaConfigError:
            if not added:
                raise
    raise AssertionError("the last one has no addition")


def _read(
    reader: ReadsRanges,
    config: ClientConfig,
    tasks: Sequence[list[PlannedRange]],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """What a task does: `batches` have the number of its ranges."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from read_partition(reader, config, KafkaInputPartition(tasks[number]))
