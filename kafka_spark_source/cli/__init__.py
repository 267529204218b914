"""The command `pykafka`: tools for operators, and a local Kafka and schema registry to try things.

`pykafka lag | checkpoint | offsets | peek | topics | dead-letters` print the values of `tools`, and
`write` gives it lines to write.
`pykafka broker start` returns when the broker is ready and leaves it running; `pykafka registry`
does the same with schema registries. This package has only arguments, output and exit codes.
`parsers` is imported by `command`, and the module of a command when it runs.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code; Ctrl-C ends it without a traceback."""
    try:
        # Imported here, so that Ctrl-C may come while modules are imported.
        from kafka_spark_source.cli.command import run  # noqa: PLC0415

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt as interrupt:
        # A terminal has shown "^C" in the line.
        begin = "\n" if sys.stderr.isatty() else ""
        text = ". ".join(("interrupted", *interrupt.args))
        sys.stderr.write(f"{begin}pykafka: {text}\n")
        from kafka_spark_source.cli.exit_codes import INTERRUPTED  # noqa: PLC0415

        return INTERRUPTED
