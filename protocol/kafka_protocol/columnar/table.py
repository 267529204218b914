"""Deprecated: the former path of `kafka_protocol.arrow_io.table`, which has all of its names."""

from __future__ import annotations

import importlib
import warnings

_MOVED_TO = "kafka_protocol.arrow_io.table"


def __getattr__(name: str) -> object:
    # Imported by its name: `columnar` stands beside the client, and `arrow_io` above both.
    value: object = getattr(importlib.import_module(_MOVED_TO), name)  # noqa: TID251 - a fixed name
    warnings.warn(f"import {name} from {_MOVED_TO}", DeprecationWarning, stacklevel=2)
    return value
