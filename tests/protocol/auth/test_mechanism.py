"""The common functions: credentials as bytes, a server's text, the end of the exchange."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.auth.mechanism import check_no_more, shown, utf8
from kafka_protocol.errors import AuthenticationError, KafkaConfigError


def test_utf8_without_saslprep() -> None:
    # SASLprep would change the first to "IX" and the second to "a" (RFC 4013, section 3).
    assert utf8("I\N{SOFT HYPHEN}X", "it") == b"I\xc2\xadX"
    assert utf8("\N{FEMININE ORDINAL INDICATOR}", "it") == b"\xc2\xaa"


@pytest.mark.parametrize("text", ["", "a\0b", "\0"])
def test_empty_text_and_nul_are_rejected(text: str) -> None:
    with pytest.raises(KafkaConfigError, match="the password is empty or has a NUL"):
        utf8(text, "the password")


def test_fault_54_a_bad_character_does_not_show_the_rest() -> None:
    with pytest.raises(KafkaConfigError, match="cannot encode") as caught:
        utf8("pencil\ud800", "the password")
    assert "pencil" not in str(caught.value)
    # Python's own exception contains the text.
    assert caught.value.__suppress_context__


@given(st.text(max_size=300))
def test_a_servers_text_is_short_and_printable(text: str) -> None:
    result = shown(text)
    assert result.isprintable()
    assert len(result) <= 203
    assert result == text or not text.isprintable() or len(text) > 200


def test_a_servers_text_can_be_shorter_or_longer() -> None:
    assert shown("x" * 300, 3) == "xxx..."
    assert shown("x" * 300, 1_000) == "x" * 300


def test_no_token_after_the_end() -> None:
    check_no_more(b"")
    with pytest.raises(AuthenticationError, match="sent 3 bytes after the end of the exchange"):
        check_no_more(b"abc")
