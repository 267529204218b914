"""The folders of local brokers and registries outside their own temporary folders. Nothing else.

Both follow the XDG base directory specification, so that users and tests can move them.
"""

from __future__ import annotations

import os
from pathlib import Path

_APPLICATION = "pyspark-pykafka"


def cache_folder() -> Path:
    """The permanent folder with Kafka's jars and the registry, one folder for each version."""
    configured = os.environ.get("XDG_CACHE_HOME")
    return (Path(configured) if configured else Path.home() / ".cache") / _APPLICATION


def runtime_folder() -> Path:
    """The folder with the state of running servers: in the session's, else in the cache."""
    configured = os.environ.get("XDG_RUNTIME_DIR")
    if configured and os.access(configured, os.W_OK):
        return Path(configured) / _APPLICATION
    return cache_folder() / "running"
