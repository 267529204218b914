"""`df.write` and `writeStream` to another topic, at least once and exactly once."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tests.endurance.torture.queries import Query
from tests.endurance.torture.ways.place import WRITTEN_PARTITIONS, Place
from tests.endurance.torture.ways.spark_batch import load
from tests.endurance.torture.ways.streams import run_stream, writer_of
from tests.endurance.torture.written import AT, Gave, Written

_AT_HEADER = (
    f"named_struct('key', '{AT}', 'value', "
    "CAST(concat_ws('/', topic, partition, offset) AS binary))"
)
_HEADERS = f"concat(coalesce(headers, array()), array({_AT_HEADER})) AS headers"
_STREAM_OPTIONS = ("compression.type", "batch.size")


def with_place(df: DataFrame) -> DataFrame:
    """The columns to write, with the header that tells where a row came from."""
    return df.selectExpr("key", "value", "timestamp", _HEADERS)


def sink_options(query: Query, topic: str) -> dict[str, str]:
    """The options of a write, but for the brokers' addresses."""
    given = {f"kafka.{name}": query.how[name] for name in _STREAM_OPTIONS if name in query.how}
    return given | {"topic": topic}


def spark_write(place: Place, query: Query) -> Gave:
    """A batch."""
    topic = place.new_topic()
    _write_batch(place, query, sink_options(query, topic))
    return Gave(written=Written(topic, WRITTEN_PARTITIONS, once=not place.faulty()))


def stream_write(place: Place, query: Query) -> Gave:
    """A stream at least once."""
    topic = place.new_topic()
    restarts = place.restarts
    _write_stream(place, query, sink_options(query, topic))
    return Gave(
        written=Written(
            topic, WRITTEN_PARTITIONS, once=not place.faulty() and place.restarts == restarts
        )
    )


def exactly_once(place: Place, query: Query) -> Gave:
    """A stream that is stopped and started again, or a batch: each row once."""
    topic = place.new_topic()
    options = sink_options(query, topic) | {
        "deliveryGuarantee": "exactly_once",
        "transactionalIdPrefix": topic,
    }
    if query.how["write"] == "stream":
        _write_stream(place, query, options)
    else:
        _write_batch(place, query._replace(way="spark write"), options)
    return Gave(written=Written(topic, WRITTEN_PARTITIONS, once=True))


def _write_batch(place: Place, query: Query, options: dict[str, str]) -> None:
    rows = with_place(load(place.spark.read, query, place.source))
    rows.write.format("pykafka").options(**place.source, **options).mode("append").save()


def _write_stream(place: Place, query: Query, options: dict[str, str]) -> None:
    folder = place.new_folder()
    rows = with_place(load(place.spark.readStream, query, place.source))

    def make() -> DataStreamWriter:
        writer = writer_of(rows, f"{folder}/checkpoint").format("pykafka")
        return writer.options(**place.source, **options)

    run_stream(place, make, {"stops": "1"} | dict(query.how))
