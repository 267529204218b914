"""The ids of topics: the first one counts, until it is replaced for good."""

from __future__ import annotations

import uuid

from kafka_spark_source.streaming.topic_ids import TopicIds

FIRST, SECOND, THIRD = (uuid.UUID(int=number) for number in (1, 2, 3))


def test_the_first_id_counts() -> None:
    ids = TopicIds()
    ids.adopt({"t": FIRST})
    ids.adopt({"t": SECOND, "u": THIRD})
    assert ids.by_topic == {"t": FIRST, "u": THIRD}
    assert ids.changed_in({"t": SECOND, "u": THIRD, "new": SECOND}) == {"t"}
    assert not ids.are_stale({"t": SECOND})


def test_a_replaced_id_is_stale_for_good() -> None:
    ids = TopicIds()
    ids.adopt({"t": FIRST, "u": THIRD})
    ids.replace(["t"], {"t": SECOND, "u": THIRD})
    assert ids.by_topic == {"t": SECOND, "u": THIRD}
    assert ids.changed_in({"t": SECOND}) == set()
    assert ids.are_stale({"t": FIRST, "u": THIRD})
    assert not ids.are_stale({"t": SECOND, "u": THIRD})
    assert repr(ids) == "<TopicIds of 2 topics, 1 replaced>"


def test_below_2_8_there_are_none() -> None:
    ids = TopicIds()
    ids.adopt({})
    assert ids.by_topic == {}
    assert ids.changed_in({}) == set()
    assert not ids.are_stale({})
