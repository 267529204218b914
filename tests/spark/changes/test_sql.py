"""How names, texts and expressions that fail are spelled."""

from __future__ import annotations

from kafka_spark_source.changes.sql import failure, message, quoted, text


def test_names_and_texts_are_quoted() -> None:
    assert quoted("a `b`.c") == "`a ``b``.c`"
    assert text("it's \\n") == "'it\\'s \\\\n'"


def test_a_failure_has_a_place_and_maybe_more() -> None:
    assert failure("at ", "it's gone", "p") == "raise_error(concat('at ', p, ': it\\'s gone'))"
    assert message("at ", "it's gone", "p") == "concat('at ', p, ': it\\'s gone')"
    assert failure("at ", "x ", "p", "a", "b") == "raise_error(concat('at ', p, ': x ', a, b))"
