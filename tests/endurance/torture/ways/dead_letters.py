"""Text of which some is not UTF-8: rows beside dead letters, in a batch or a stream."""

from __future__ import annotations

from collections.abc import Callable

from tests.endurance.torture.queries import Query
from tests.endurance.torture.ways.for_each_batch import for_each_batch
from tests.endurance.torture.ways.place import WRITTEN_PARTITIONS, Place
from tests.endurance.torture.ways.spark_batch import spark_batch
from tests.endurance.torture.written import DEAD_LETTER, Gave, Written


def dead_letters(place: Place, query: Query) -> Gave:
    """A batch."""
    return _with_topic(place, query, spark_batch)


def dead_letter_stream(place: Place, query: Query) -> Gave:
    """A stream."""
    return _with_topic(place, query, for_each_batch)


def _with_topic(place: Place, query: Query, run: Callable[[Place, Query], Gave]) -> Gave:
    """The rows, and the topic with the rest, in which a task that ran again has written twice."""
    topic = place.new_topic()
    gave = run(place, query._replace(options={**query.options, "deadLetterTopic": topic}))
    return gave._replace(written=Written(topic, WRITTEN_PARTITIONS, payload=DEAD_LETTER))
