"""The name that was meant."""

from __future__ import annotations

from kafka_protocol.options.nearest_name import did_you_mean

KNOWN = {"startingoffsets": "startingOffsets", "endingoffsets": "endingOffsets", "topic": "topic"}


def test_the_nearest_name_is_shown_as_it_is_spelled() -> None:
    assert did_you_mean("startingoffset", KNOWN) == "did you mean 'startingOffsets'?"
    assert did_you_mean("topik", KNOWN, before="; ") == "; did you mean 'topic'?"


def test_without_a_near_name_there_is_no_question() -> None:
    assert did_you_mean("zzz", KNOWN, before="; ") == ""
    assert did_you_mean("zzz", KNOWN, before="; ", otherwise="remove it.") == "remove it."


def test_the_cutoff_says_how_near() -> None:
    assert did_you_mean("tip", KNOWN) == ""
    assert did_you_mean("tip", KNOWN, cutoff=0.5) == "did you mean 'topic'?"
