"""Which processes, files, addresses and modules a piece of code reaches for.

Python says so itself, by audit events (PEP 578), whatever thread or library it is in. A hook cannot
be removed, so there is one for all tests, which does nothing outside of `watched`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Deed(NamedTuple):
    """An event and its arguments."""

    event: str
    arguments: tuple[Any, ...]


def _writes(path: object, mode: object, flags: object) -> bool:
    is_mode = isinstance(mode, str) and bool(set(mode) & set("wax+"))
    return is_mode or (mode is None and isinstance(flags, int) and bool(flags & _WRITING))


# Event -> whether it is seen.
_SEEN: Final[Mapping[str, Callable[..., bool]]] = {
    "open": _writes,
    **dict.fromkeys(
        (
            *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn"),
            *("pty.spawn", "os.mkdir", "os.rename", "os.link", "os.symlink", "os.rmdir"),
            *("os.remove", "os.putenv", "os.chdir"),
            *("os.truncate", "os.chmod", "os.chown", "shutil.rmtree", "tempfile.mkdtemp"),
            *("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"),
            *("urllib.Request", "webbrowser.open", "ctypes.dlopen", "pickle.find_class"),
        ),
        lambda *_: True,
    ),
}  # fmt: skip
_deeds: list[Deed] | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _deeds is not None and event in _SEEN and _SEEN[event](*arguments):
        _deeds.append(Deed(event, arguments))


sys.addaudithook(_hook)


@contextmanager
def watched() -> Iterator[list[Deed]]:
    """The deeds of this process until the end of the block, also those of other threads."""
    global _deeds  # noqa: PLW0603 - a hook has no other way
    deeds: list[Deed] = []
    _deeds = deeds
    try:
        yield deeds
    finally:
        _deeds = None
