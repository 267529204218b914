"""The stages of a read in their order: what makes rows of records, with and without Spark.

`debezium.query` has the stages of `envelope=debezium`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafka_formats.options.envelope import EnvelopeOptions
from kafka_formats.query.decoder import Decoder
from kafka_formats.query.query_formats import QueryFormats
from kafka_formats.query.stage import Stage
from kafka_formats.upsert.upsert import Upsert

_VALUE = "value"


def ordered_stages(
    columns: Sequence[str],
    decoder: Decoder | None,
    formats: QueryFormats | None,
    envelope: EnvelopeOptions,
    folder: Callable[[], str | None] | None = None,
) -> tuple[Stage, ...]:
    """The stages of a read; none if records are rows.

    With `envelope=upsert` the newest record of each key comes first, so that only rows are decoded.

    Args:
        columns: The columns of the rows.
        decoder: Decodes keys and values; None if they stay as they are.
        formats: The formats of the query, whose values may stand for null; None if it has none.
        envelope: The meaning of records: `none` or `upsert`.
        folder: Returns the folder for temporary files in a task; None for the system's.

    Raises:
        KafkaError: A schema cannot be found.
    """
    decoding: tuple[Stage, ...] = () if decoder is None else (decoder,)
    if not envelope.is_upsert:
        return decoding
    nulls = None if formats is None else formats.nulls(_VALUE)
    carried = tuple(columns) if decoder is None else decoder.source_columns
    return (Upsert(carried, envelope, folder, nulls=nulls), *decoding)
