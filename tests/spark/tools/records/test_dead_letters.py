"""The reason of a dead letter, as its headers say it."""

from __future__ import annotations

from kafka_spark_source.tools.records.dead_letters import DeadLetter, dead_letter_of, other_headers


def test_a_dead_letter_that_became_one_again_shows_its_last_reason() -> None:
    first = [("a", b"1"), ("__connect.errors.topic", b"orders"), ("__connect.errors.offset", b"4")]
    again = [*first, ("__connect.errors.topic", b"retried"), ("__connect.errors.stage", None)]
    assert dead_letter_of(again) == DeadLetter("retried", "", "4", "", "", "")
    assert other_headers(again) == [("a", b"1")]
    assert dead_letter_of([("a", b"1")]) is None
