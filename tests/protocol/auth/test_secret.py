"""A secret is masked, unless its text is requested."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.auth.secret import Secret

SECRET = Secret("pencil")


@pytest.mark.parametrize(
    "shown",
    [
        str(SECRET),
        repr(SECRET),
        f"{SECRET}",
        f"{SECRET!r}",
        "%s" % SECRET,  # noqa: UP031 - logging formats this way
        str([SECRET]),
        str(ValueError(SECRET)),
    ],
)
def test_fault_54_masked_in_every_print(shown: str) -> None:
    assert "***" in shown
    assert "pencil" not in shown


def test_format_with_a_width() -> None:
    assert f"{SECRET:>5}" == "  ***"


def test_it_is_not_a_str() -> None:
    with pytest.raises(TypeError):
        "".join([SECRET])  # type: ignore[list-item]


@given(st.text(), st.text())
def test_equality_of_the_texts(one: str, other: str) -> None:
    assert (Secret(one) == Secret(other)) == (one == other)
    assert Secret(one) == Secret(one)
    assert hash(Secret(one)) == hash(Secret(one))


def test_not_equal_to_its_text() -> None:
    assert SECRET != "pencil"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_executors_get_the_text(protocol: int) -> None:
    copied = pickle.loads(pickle.dumps(SECRET, protocol))
    assert copied.reveal() == "pencil"
    assert copy.deepcopy(SECRET) == SECRET
