"""Names that a registry or a broker may send, and that would be orders somewhere."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

HOSTILE_NAMES: Final = (
    "--plugin=protoc-gen-x=/bin/sh",
    "--python_out=/tmp",
    "-I/",
    "@/etc/passwd",
    "--",
    "-",
    "../../canary",
    "/canary",
    "a/../../canary",
    "a//b",
    "./a",
    "a/.",
    "..",
    ".",
    "",
    "a\\b",
    "C:\\canary",
    "C:/canary",
    "a\0b",
    "a\nb",
    "\x1b]0;title\x07",
    "\u202egnp.exe",
    "$(touch canary)",
    "`touch canary`",
    "$HOME",
    "${IFS}",
    "a;touch canary",
    "a|sh",
    "a&b",
    "a b",
    "'; DROP TABLE orders; --",
    '" OR "1"="1',
    "%2e%2e%2f",
    "a?b#c",
    "http://canary.invalid/",
    "<script>alert(1)</script>",
    "{0.__class__}",
    "%s%n",
    "__import__('os').system('touch canary')",
    "google/protobuf/../../os.proto",
    "google/protobuf/this.proto",
    "google/type/evil.proto",
    "schema.proto",
    "\ud800",
    "x" * 5_000,
)


def hostile_names() -> st.SearchStrategy[str]:
    """Such names, parts of them after each other, and any text."""
    known = st.sampled_from(HOSTILE_NAMES)
    joined = st.lists(known, min_size=1, max_size=3).map("".join)
    return known | joined | st.text(max_size=30)
