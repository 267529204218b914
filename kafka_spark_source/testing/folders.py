"""Where the local broker keeps files outside its own temporary folder. Nothing else belongs here.

Both folders follow the XDG base directory specification, so that a user, or a test, can move them.
"""

from __future__ import annotations

import os
from pathlib import Path

_APPLICATION = "pyspark-pykafka"


def cache_folder() -> Path:
    """The folder that survives everything: Kafka's jars, one folder for each version."""
    configured = os.environ.get("XDG_CACHE_HOME")
    return (Path(configured) if configured else Path.home() / ".cache") / _APPLICATION


def runtime_folder() -> Path:
    """The folder of the running brokers' state: the session's, else one beside the cache."""
    configured = os.environ.get("XDG_RUNTIME_DIR")
    if configured and os.access(configured, os.W_OK):
        return Path(configured) / _APPLICATION
    return cache_folder() / "running"
