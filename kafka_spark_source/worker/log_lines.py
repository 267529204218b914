"""Log lines on stderr, each with pykafka's name, where a process has not configured logging.

Spark's Python workers configure none, and their lines appear among Spark's own.
"""

from __future__ import annotations

import logging
import sys
from typing import Final, TextIO

_PACKAGES: Final = ("kafka_protocol", "kafka_formats", "kafka_spark_source")


class _LastResort(logging.StreamHandler[TextIO]):
    """Prints a record that no other handler gets, as `logging.lastResort` does."""

    def emit(self, record: logging.LogRecord) -> None:
        logger: logging.Logger | None = logging.getLogger(record.name)
        while logger is not None:
            if any(each is not _HANDLER for each in logger.handlers):
                return
            logger = logger.parent if logger.propagate else None
        self.stream = sys.stderr  # PySpark may have replaced it
        super().emit(record)


_HANDLER: Final = _LastResort()
_HANDLER.setLevel(logging.WARNING)
_HANDLER.setFormatter(logging.Formatter("pykafka: %(message)s"))


def name_our_lines() -> None:
    """Print warnings with our name where nothing is configured. Repeated calls change nothing."""
    for package in _PACKAGES:
        logging.getLogger(package).addHandler(_HANDLER)
