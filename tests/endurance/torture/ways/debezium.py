"""Rows as changes of a database: written as events, read by librdkafka and as rows again."""

from __future__ import annotations

from pyspark.sql import functions as F

from tests.endurance.torture.expected import Answer
from tests.endurance.torture.queries import Query
from tests.endurance.torture.ways.place import WRITTEN_PARTITIONS, Place
from tests.endurance.torture.ways.spark_batch import load
from tests.endurance.torture.ways.spark_write import sink_options
from tests.endurance.torture.ways.tables import rows_of
from tests.endurance.torture.written import DDL, FORMATTED, Gave, Written

_ROW = (
    "named_struct('topic', topic, 'partition', partition, 'offset', offset, "
    "'timestamp', unix_millis(timestamp), 'key', key, 'value', value)"
)
_OP = "CASE offset % 3 WHEN 0 THEN 'c' WHEN 1 THEN 'u' ELSE 'd' END"
_EVENT = (
    f"named_struct('before', IF(offset % 3 = 2, {_ROW}, NULL), "
    f"'after', IF(offset % 3 = 2, NULL, {_ROW}), 'op', {_OP}, 'ts_ms', offset)"
)
# The table has columns with the names of Kafka's.
_PREFIX = "__"
_READ = {
    **{"envelope": "debezium", "debezium.prefix": _PREFIX, "value.format": "json"},
    **{"value.schema": DDL, "key.format": "raw"},
}


def debezium(place: Place, query: Query) -> Gave:
    """Writes an event for each row, and what the source makes of them."""
    topic = place.new_topic()
    rows = load(place.spark.read, query, place.source)
    events = rows.select(F.to_json(F.expr(_EVENT), {"ignoreNullFields": "false"}).alias("value"))
    options = place.source | sink_options(query, topic)
    events.write.format("pykafka").options(**options).mode("append").save()
    changes = place.spark.read.format("pykafka").options(**place.source, **_READ)
    table = changes.option("subscribe", topic).load()
    wrong = f"NOT ({_PREFIX}op <=> {_OP} AND {_PREFIX}ts_ms <=> offset)"
    found = table.select(
        *(name for name in FORMATTED if name != "timestamp"),
        F.timestamp_millis("timestamp").alias("timestamp"),
        F.expr(wrong).alias("wrong"),
    ).toArrow()
    assert not any(found["wrong"].to_pylist()), "an event has another operation or time"
    faulty = place.faulty()
    answer = Answer([rows_of(found)], ordered=False, may_repeat=faulty)
    return Gave(answer, Written(topic, WRITTEN_PARTITIONS, payload="event", once=not faulty))
