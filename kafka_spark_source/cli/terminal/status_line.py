"""The last line of a terminal, for a text that later output replaces.

It neither hides the cursor nor sets a mode: whatever ends the process, the terminal is as before.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import Final

from kafka_spark_source.cli.terminal.escaping import escaped
from kafka_spark_source.cli.terminal.tables import cut

_ERASE: Final = "\r\x1b[K"


class StatusLine:
    """A line on the standard error. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_shown = False

    @property
    def is_possible(self) -> bool:
        """Whether the standard error is a terminal that can erase a line."""
        return sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in {"dumb", "unknown"}

    def show(self, text: str | None) -> None:
        """Replace the text; None erases it. A terminal may be gone already."""
        with self._lock, suppress(OSError):
            if self._is_shown or text is not None:
                sys.stderr.write(_ERASE + ("" if text is None else self._in_one_line(text)))
                sys.stderr.flush()
            self._is_shown = text is not None

    @staticmethod
    def _in_one_line(text: str) -> str:
        # A line that wraps cannot be erased; in the last column some terminals wrap.
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        return cut(escaped(text), columns - 1)
