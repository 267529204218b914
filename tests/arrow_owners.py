"""Who owns the memory of an Arrow array: Arrow itself, or an object of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa


def borrowed_bytes(make: Callable[[], Any]) -> int:
    """How many bytes of an array or a batch are not Arrow's.

    Arrow counts what it has allocated: memory that it owns is given back with the array. It
    allocates in multiples of 64 bytes, so columns need some thousand rows to show what is borrowed.
    """
    found = make()
    size, before = found.get_total_buffer_size(), pa.total_allocated_bytes()
    del found
    return max(0, int(size - (before - pa.total_allocated_bytes())))
