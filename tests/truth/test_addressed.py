from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.truth.addressed import invented, longer

lengths = st.dictionaries(st.sampled_from("abc"), st.integers(0, 3))
records = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([b"x", None])))


@given(lengths, lengths)
def test_topics_that_are_longer_than_what_was_sent(
    found: dict[str, int], wanted: dict[str, int]
) -> None:
    expected = {name for name in wanted if name in found and found[name] > wanted[name]}
    assert {*longer(found, wanted)} == expected
    assert all(each == (wanted[name], found[name]) for name, each in longer(found, wanted).items())


@given(records, records)
def test_what_nobody_has_sent(found: list[object], sent: list[object]) -> None:
    alien = invented([*found, ("d", b"x")], sent)
    assert ("d", b"x") in alien
    assert {*alien}.isdisjoint(sent)
    assert {*found} <= {*alien, *sent}
    assert invented(sent, sent) == []
