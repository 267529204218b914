"""What all mechanisms share: credentials as bytes, a server's words, the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.auth.mechanism import refuse_more, shown, utf8
from kafka_protocol.errors import AuthenticationError, KafkaConfigError


def test_text_is_utf8_as_it_is() -> None:
    # SASLprep would make "I" and "X" of the first, and "a" of the second (RFC 4013, section 3).
    assert utf8("I\N{SOFT HYPHEN}X", "it") == b"I\xc2\xadX"
    assert utf8("\N{FEMININE ORDINAL INDICATOR}", "it") == b"\xc2\xaa"


@pytest.mark.parametrize("text", ["", "a\0b", "\0"])
def test_what_no_mechanism_can_carry(text: str) -> None:
    with pytest.raises(KafkaConfigError, match="the password is empty or holds a NUL"):
        utf8(text, "the password")


def test_fault_54_a_bad_character_does_not_show_the_rest() -> None:
    with pytest.raises(KafkaConfigError, match="cannot express") as caught:
        utf8("pencil\ud800", "the password")
    assert "pencil" not in str(caught.value)
    # What Python raised holds the text, and would be shown by whoever prints its attributes.
    assert caught.value.__suppress_context__


@given(st.text(max_size=300))
def test_a_servers_words_are_short_and_printable(text: str) -> None:
    said = shown(text)
    assert said.isprintable()
    assert len(said) <= 203
    assert said == text or not text.isprintable() or len(text) > 200


def test_nothing_more_may_come() -> None:
    refuse_more(b"")
    with pytest.raises(AuthenticationError, match="sent 3 bytes after the end of the exchange"):
        refuse_more(b"abc")
