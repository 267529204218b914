"""PEM text in options, and PEM files."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.client.network.pem import is_binary, temporary_file, with_line_breaks

BLOCK = "-----BEGIN CERTIFICATE-----\nAAAA\nBBBB==\n-----END CERTIFICATE-----\n"
HEADERS = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n"
    "AAAA\n-----END RSA PRIVATE KEY-----\n"
)


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        BLOCK.replace("\n", "\\n"),
        BLOCK.replace("\n", "\\r\\n"),
        BLOCK.replace("\n", "\r\n"),
        BLOCK.replace("\n", " "),
        f"  {BLOCK}  ",
    ],
    ids=["as it is", "escaped", "escaped CRLF", "CRLF", "one line", "padded"],
)
def test_lines_are_restored(text: str) -> None:
    assert with_line_breaks(text) == BLOCK


def test_several_blocks_stay_apart() -> None:
    assert with_line_breaks((BLOCK * 2).replace("\n", " ")).split() == (BLOCK * 2).split()
    assert with_line_breaks((BLOCK * 2).replace("\n", " ")).count("\n-----BEGIN") == 1


def test_headers_keep_their_lines() -> None:
    assert with_line_breaks(HEADERS.replace("\n", "\\n")) == HEADERS


@given(st.text())
def test_restoring_lines_twice_changes_nothing(text: str) -> None:
    assert with_line_breaks(with_line_breaks(text)) == with_line_breaks(text)


def test_temporary_file_is_private_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_file(BLOCK.replace("\n", "\\n")) as name:
        assert Path(name).read_text() == BLOCK
        assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
        assert Path(name).parent == tmp_path
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"\xfe\xed\xfe\xed\x00\x00", True),
        (b"\xce\xce\xce\xce\x00", True),
        (b"\x30\x82\x01", True),
        (b"-----BEGIN", False),
        (b"0 is text, too", False),
        (b"", False),
    ],
    ids=["JKS", "JCEKS", "DER", "PEM", "text", "empty"],
)
def test_binary_files_are_recognised(tmp_path: Path, head: bytes, expected: bool) -> None:
    file = tmp_path / "store"
    file.write_bytes(head)
    assert is_binary(str(file)) is expected
