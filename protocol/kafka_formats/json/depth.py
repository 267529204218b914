"""The depth of documents: 1,000 levels at most, as for Jackson, whatever reads them.

Python's decoder recurses, so by itself it stops earlier, the deeper its caller is; Arrow's reader
does not stop.

Source: `StreamReadConstraints.DEFAULT_MAX_DEPTH` of Jackson.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka_formats.errors import PayloadError

MAX_DEPTH: Final = 1_000
# A string, also one that is cut off; or a bracket.
_PARTS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', re.DOTALL)
_limit_is_raised: Final = threading.Lock()


def check_depth(payload: bytes) -> None:
    """Check the first document of a payload.

    Raises:
        PayloadError: It is nested too deeply.
    """
    if _may_be_deep(payload) and _is_deep(payload):
        raise PayloadError("", f"it is nested more than {MAX_DEPTH:,} levels deep")


def _may_be_deep(payload: bytes) -> bool:
    is_long = len(payload) > 2 * MAX_DEPTH
    return is_long and payload.count(b"[") + payload.count(b"{") > MAX_DEPTH


def _is_deep(payload: bytes) -> bool:
    if payload.lstrip(b" \t\r\n")[:1] not in (b"[", b"{"):
        return False
    depth = 0
    for match in _PARTS.finditer(payload):
        kind = match[0][:1]
        if kind in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif kind != b'"':
            depth -= 1
        if not depth:
            # Text after the document is ignored.
            break
    return False


@contextmanager
def room_for_documents() -> Iterator[None]:
    """Let Python's decoder take all documents that `check_depth` accepts."""
    with _limit_is_raised:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + MAX_DEPTH)
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)
