from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.truth.headers import Headers, Origin, by_name, origin_of

values = st.sampled_from([None, b"", b"1"])
headers = st.lists(st.tuples(st.sampled_from("abc"), values)).map(tuple)


@given(headers)
def test_by_name_the_last_one_counts(given_: Headers) -> None:
    kept = by_name(given_)
    assert dict(kept) == dict(given_)
    assert len({name for name, _ in kept}) == len(kept)
    positions = [len(given_) - 1 - [n for n, _ in given_][::-1].index(name) for name, _ in kept]
    assert positions == sorted(positions)


def test_headers_of_two_names() -> None:
    assert by_name((("a", b"1"), ("b", None), ("a", b"2"))) == (("b", None), ("a", b"2"))
    assert by_name(((b"a", b"1"), (b"a", None))) == ((b"a", None),)


def added(topic: str, partition: int, offset: int, timestamp: int) -> Headers:
    place = {"topic": topic, "partition": partition, "offset": offset}
    names = ((f"__connect.errors.{name}", str(value).encode()) for name, value in place.items())
    time = ("__pykafka.errors.timestamp", b"%d" % timestamp)
    return (*names, ("__connect.errors.stage", b"VALUE_CONVERTER"), time)


@given(headers, st.integers(0, 9), st.integers(0, 9))
def test_a_dead_letter_tells_where_it_came_from(own: Headers, number: int, again: int) -> None:
    once = (*own, *added("t", number, number + 1, number + 2))
    assert origin_of(once) == Origin("t", number, number + 1, own, number + 2)
    # A dead letter of a dead letter.
    assert origin_of((*once, *added("u", again, 7, 8))) == Origin("u", again, 7, once, 8)


def test_another_record_is_not_a_dead_letter() -> None:
    with pytest.raises(ValueError, match="a dead letter without the header"):
        origin_of((("a", b""),))
