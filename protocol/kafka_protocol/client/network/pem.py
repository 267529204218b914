"""PEM text and PEM files, as OpenSSL wants them. Nothing is decrypted or checked here."""

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

# JKS and JCEKS have a magic number; PKCS12 begins as anything in DER does.
_BINARY: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce", b"\x30\x80", b"\x30\x82", b"\x30\x83")


def with_lines(text: str) -> str:
    r"""PEM with its lines: an option is often one line, with spaces or a literal "\n" instead.

    Java reads such text, too; OpenSSL does not.
    """
    return _BLOCK.sub(_lines_of, text.replace("\\r", "").replace("\\n", "\n")).strip() + "\n"


def _lines_of(block: re.Match[str]) -> str:
    kind, body = block["kind"], block["body"]
    if ":" not in body:  # else there are headers, which have lines of their own
        body = "\n".join(["", *body.split(), ""])
    return f"\n-----BEGIN {kind}-----{body}-----END {kind}-----\n"


def is_binary(path: str) -> bool:
    """Whether a file is one of Java's key stores, or DER, rather than PEM.

    Raises:
        OSError: It cannot be read.
    """
    with Path(path).open("rb") as file:
        return file.read(4).startswith(_BINARY)


@contextmanager
def on_disk(text: str) -> Iterator[str]:
    """A file with that text for the length of a `with` block, readable to this user only.

    `ssl` takes a private key from a file and from nowhere else.
    """
    with tempfile.NamedTemporaryFile(prefix="pykafka-", suffix=".pem") as file:
        file.write(with_lines(text).encode())
        file.flush()
        yield file.name
