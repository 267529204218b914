"""The log lines that an error shows of a process that ended or is not ready. Pure."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_TAIL_LINES = 20
_ERROR_LINES = 9
_ERROR = re.compile(r"\b(ERROR|FATAL)\b|Exception")


def relevant_lines(log: Sequence[str]) -> list[str]:
    """The end of a log, and its first error if that is earlier."""
    end = max(len(log) - _TAIL_LINES, 0)
    first_error = next((number for number, line in enumerate(log) if _ERROR.search(line)), end)
    if first_error >= end:
        return list(log[end:])
    return [*log[first_error : first_error + _ERROR_LINES], "...", *log[end + _ERROR_LINES + 1 :]]


def how_it_ended(code: int) -> str:
    """A negative exit code is the number of a signal, as in `subprocess`."""
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
