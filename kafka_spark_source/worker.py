"""The Python worker of Spark's that tasks run in, one after the other."""

from __future__ import annotations

import gc
from functools import cache


@cache
def spare_modules_from_gc() -> None:
    """Once in a worker, when its first task has loaded all that tasks need.

    After each task a worker looks through all of its objects for garbage, 20 to 40 ms for which
    the next task waits. Nearly all of them belong to modules, which never become garbage.
    """
    gc.collect()
    gc.freeze()
