"""Brings PEM text and files into the form that OpenSSL reads. Nothing is decrypted or checked."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_BLOCK: Final = re.compile(
    r"\s*-----BEGIN (?P<kind>[A-Z0-9 ]+)-----(?P<body>.*?)-----END (?P=kind)-----", re.DOTALL
)

# JKS and JCEKS have a magic number; PKCS12 starts like all DER.
_BINARY: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce", b"\x30\x80", b"\x30\x82", b"\x30\x83")


def with_line_breaks(text: str) -> str:
    r"""Restore the line breaks of PEM text from an option, where they are spaces or a literal "\n".

    Java reads such text without them; OpenSSL does not.
    """
    return _BLOCK.sub(_lines_of, text.replace("\\r", "").replace("\\n", "\n")).strip() + "\n"


def _lines_of(block: re.Match[str]) -> str:
    kind, body = block["kind"], block["body"]
    if ":" not in body:  # else the block has headers, which need their own lines
        body = "\n".join(["", *body.split(), ""])
    return f"\n-----BEGIN {kind}-----{body}-----END {kind}-----\n"


def is_binary(path: str) -> bool:
    """Whether a file is a Java key store or DER, and not PEM.

    Raises:
        OSError: The file cannot be read.
    """
    with Path(path).open("rb") as file:
        return file.read(4).startswith(_BINARY)


@contextmanager
def temporary_file(text: str) -> Iterator[str]:
    """Write the text to a temporary file for a `with` block, readable by this user only.

    `ssl` reads a private key only from a file.
    """
    with tempfile.NamedTemporaryFile(prefix="pykafka-", suffix=".pem") as file:
        file.write(with_line_breaks(text).encode())
        file.flush()
        yield file.name
