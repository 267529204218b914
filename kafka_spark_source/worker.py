"""Settings of the Python workers of Spark: of tasks, and of a stream's driver."""

from __future__ import annotations

import gc
from functools import cache


@cache
def exclude_modules_from_gc() -> None:
    """Exclude the objects of loaded modules from garbage collection, once in each worker.

    Spark's worker runs a full collection after each task. It takes 20 to 40 ms, mostly for objects
    of modules, which never become garbage, and the next task waits for it. Python runs one as
    often on the driver of an idle stream, where Spark passes large JSON.
    """
    gc.collect()
    gc.freeze()
