"""The exit codes of the commands; argparse itself ends with 2 for a wrong command line."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable
from typing import Final, TypeAlias

# Runs a command with its arguments, and returns its exit code.
Run: TypeAlias = Callable[[argparse.Namespace], int]

SUCCESS: Final = 0
ERROR: Final = 1
# `status`: no server runs.
NOTHING_RUNS: Final = 3
# `lag --fail-above`: a query has a longer lag, or has lost records. `dead-letters --fail-above`.
BEHIND: Final = 4
# `lag`, `context list`: some items are shown; the others cannot be read, and are named.
INCOMPLETE: Final = 5
INTERRUPTED: Final = 128 + signal.SIGINT
# Who reads the output, such as `head`, has seen enough.
OUTPUT_CLOSED: Final = 128 + signal.SIGPIPE
