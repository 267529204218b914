"""Counts the Python objects of a process of the soak test when it receives SIGURG.

Python imports a module of this name when it starts, so the folder of this file on PYTHONPATH brings
the handler into every Python process of Spark; forked workers inherit it. SIGURG does no harm to a
process without the handler. This module imports nothing that Python has not loaded already.
"""

from __future__ import annotations

import gc
import os
import signal

_FOLDER = "SOAK_OBJECTS"


def _count(_number: int, _frame: object) -> None:
    """Write the number of objects into a file with the name of the process id."""
    # `exclude_modules_from_gc` moves objects from the first number to the second.
    count = len(gc.get_objects()) + gc.get_freeze_count()
    path = f"{os.environ[_FOLDER]}/{os.getpid()}"
    try:
        with open(f"{path}.part", "w") as file:  # noqa: PTH123 -- pathlib is not loaded yet
            file.write(str(count))
        os.replace(f"{path}.part", path)  # noqa: PTH105 -- as above
    except OSError:
        pass  # an exception here would be one of the interrupted code


if _FOLDER in os.environ:
    signal.signal(signal.SIGURG, _count)
