"""Rows as structs of Avro or JSON: written, read by librdkafka, and decoded by the source."""

from __future__ import annotations

import json

from tests.endurance.torture.expected import Answer
from tests.endurance.torture.queries import Query
from tests.endurance.torture.ways.place import WRITTEN_PARTITIONS, Place
from tests.endurance.torture.ways.spark_batch import load
from tests.endurance.torture.ways.spark_write import sink_options
from tests.endurance.torture.ways.tables import rows_of
from tests.endurance.torture.written import AVRO_SCHEMA, DDL, Gave, Written

_SCHEMAS = {"avro": json.dumps(AVRO_SCHEMA), "json": DDL}
_STRUCT = (
    "named_struct('topic', topic, 'partition', partition, 'offset', offset, "
    "'timestamp', unix_millis(timestamp), 'key', key, 'value', value) AS value"
)


def formats(place: Place, query: Query) -> Gave:
    """Writes the rows, and what the source decodes from that topic."""
    topic = place.new_topic()
    name = query.how["format"]
    encoded = {"value.format": name, "value.schema": _SCHEMAS[name]}
    rows = load(place.spark.read, query, place.source).selectExpr(_STRUCT)
    options = place.source | encoded | sink_options(query, topic)
    rows.write.format("pykafka").options(**options).mode("append").save()
    reader = place.spark.read.format("pykafka").options(**place.source, **encoded)
    structs = reader.option("subscribe", topic).load()
    decoded = structs.selectExpr(
        *(f"value.{column}" for column in ("topic", "partition", "offset", "key", "value")),
        "timestamp_millis(value.timestamp) AS timestamp",
    )
    faulty = place.faulty()
    answer = Answer([rows_of(decoded.toArrow())], ordered=False, may_repeat=faulty)
    return Gave(answer, Written(topic, WRITTEN_PARTITIONS, payload=name, once=not faulty))
