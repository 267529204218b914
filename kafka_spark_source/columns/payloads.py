"""The payloads of a read or a write of Spark: types of columns, stages, how to encode.

Imports what knows formats where a query has them: most processes of Spark only look for a name.
Which format, schema or envelope there is, is a matter of `kafka_formats`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from kafka_formats.options.envelope import Envelope
from kafka_formats.options.settings import Mode
from kafka_formats.options.table import MODE
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.options.read import ReadOptions
from kafka_spark_source.options.table import Table
from kafka_spark_source.options.write import WriteOptions
from kafka_spark_source.planning.strategies import topics_of
from kafka_spark_source.schema import (
    added_columns,
    check_projection,
    is_as_it_comes,
    source_schema,
    text_columns,
)
from kafka_spark_source.worker.worker import spill_folder

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_formats.debezium.query import DebeziumQuery
    from kafka_formats.query.decoder import PutAside
    from kafka_formats.query.query_formats import QueryFormats
    from kafka_formats.query.record_encoder import RecordEncoder
    from kafka_formats.query.stage import Stage


class ReadPayloads:
    """The payloads of one read, whose schemas are found once, when something asks for them."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def columns(self) -> StructType:
        """All columns of the read. The types of decoded ones come from the schemas that exist now.

        Raises:
            KafkaError: A schema cannot be found, or an option has no effect.
        """
        options = self._options
        if self._changes is not None:
            from kafka_spark_source.columns.arrow_types import to_spark_schema  # noqa: PLC0415

            return to_spark_schema(self._changes.schema())
        _check_mode(options, StructType())
        types = added_columns(options.formats, options.envelope, options.mode)
        if self._formats is not None:
            from kafka_formats.arrow.types import passed_on  # noqa: PLC0415
            from kafka_spark_source.columns.arrow_types import to_spark  # noqa: PLC0415

            decoded = self._formats.columns().items()
            types = {name: to_spark(passed_on(each)) for name, each in decoded} | types
        return source_schema(
            include_headers=options.include_headers,
            include_topic_id=options.include_topic_id,
            formats=types,
        )

    def record_types(self) -> Mapping[str, str]:
        """The record types of the values, full name -> member; empty unless they have several.

        Raises:
            KafkaError: A schema cannot be found.
        """
        return {} if self._formats is None else self._formats.record_types("value")

    def types_of_members(self) -> Mapping[str, Sequence[str]]:
        """Path of a struct in the columns -> the types of its fields `member0`, `member1`.

        Raises:
            KafkaError: A schema cannot be found.
        """
        return {} if self._formats is None else self._formats.types_of_members()

    def stages(self, schema: StructType, put_aside: PutAside | None) -> tuple[Stage, ...]:
        """Check a projection, and return what makes its rows of records; nothing if they are rows.

        Args:
            schema: The projection.
            put_aside: Takes the records that cannot be decoded; None to do as the mode says.

        Raises:
            KafkaError: The projection does not fit, or a schema cannot be found.
        """
        if self._changes is not None:
            return self._changes.stages(_wanted(schema), put_aside)
        options = self._options
        check_projection(
            schema,
            include_headers=options.include_headers,
            formats=options.formats,
            envelope=options.envelope,
            mode=options.mode,
        )
        _check_mode(options, schema)
        is_unchanged = options.formats is None and is_as_it_comes(schema)
        if is_unchanged and not options.envelope.is_upsert:
            return ()
        from kafka_formats.query.query_formats import decoder_of  # noqa: PLC0415
        from kafka_formats.read_stages import ordered_stages  # noqa: PLC0415

        decoder = None
        if not is_unchanged:
            decoder = decoder_of(
                _wanted(schema),
                self._formats,
                checked_text=[] if options.mode is None else text_columns(schema, options.formats),
                mode=options.mode or Mode.FAILFAST,
                put_aside=put_aside,
            )
        return ordered_stages(schema.names, decoder, self._formats, options.envelope, spill_folder)

    @cached_property
    def _formats(self) -> QueryFormats | None:
        """The formats of keys and values; None if they stay bytes."""
        if self._options.formats is None:
            return None
        from kafka_formats.query.query_formats import QueryFormats  # noqa: PLC0415

        return QueryFormats(self._options.formats, topics_of(self._options.strategy))

    @cached_property
    def _changes(self) -> DebeziumQuery | None:
        """The changes that the records are; None if records are what they are."""
        options = self._options
        if options.envelope.kind is not Envelope.DEBEZIUM or options.formats is None:
            return None
        from kafka_formats.debezium.query import DebeziumQuery  # noqa: PLC0415

        return DebeziumQuery(
            options.formats,
            options.envelope.debezium,
            topics_of(options.strategy),
            has_headers=options.include_headers,
            has_topic_ids=options.include_topic_id,
        )


def _wanted(schema: StructType) -> pa.Schema:
    """The Arrow schema of a projection.

    Raises:
        SchemaError: A column is nested too deeply for Spark to get it from Arrow.
    """
    from kafka_formats.arrow.types import passed_on  # noqa: PLC0415
    from kafka_spark_source.columns.arrow_types import to_arrow_schema  # noqa: PLC0415

    wanted = to_arrow_schema(schema)
    for each in wanted:
        passed_on(each.type)
    return wanted


def encoder_of(
    options: WriteOptions, columns: SinkColumns, schema: StructType
) -> RecordEncoder | None:
    """How to encode keys and values; None if they are bytes or text.

    Raises:
        KafkaError: A schema cannot be found, or does not fit its column.
    """
    if options.formats is None:
        return None
    from kafka_formats.query.write import WrittenColumn, encoder_for  # noqa: PLC0415
    from kafka_spark_source.columns.arrow_types import to_arrow  # noqa: PLC0415

    written = {
        name: WrittenColumn(index, to_arrow(schema.fields[index].dataType))
        for name, index in (("key", columns.key), ("value", columns.value))
        if index is not None
    }
    return encoder_for(options.formats, options.topic, written)


def _check_mode(options: ReadOptions, schema: StructType) -> None:
    """Refuse a mode, or a topic for dead letters, where no payload can be broken."""
    if options.mode is None or options.formats or text_columns(schema, options.formats):
        return
    row = MODE if options.dead_letter_topic is None else Table.DEAD_LETTER_TOPIC
    raise KafkaConfigError(
        f"Option '{row.name}' needs a column that is decoded: set value.format or key.format, name "
        "the column as string in .schema(...), or remove it."
    )
