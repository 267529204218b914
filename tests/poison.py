"""Freed memory in tests has 0xDB over its whole length, before anything can be allocated there.

So a view of memory that its owner gave back does not have the right bytes by luck. glibc writes
them (mallopt(3), M_PERTURB) in each process that is started with this environment: pytest itself
under `make`, and always Spark's workers and the other processes of tests. Blocks of up to 1 kB are
left out, and so are those of 128 kB and more that glibc maps: there a late read ends the process.
"""

from __future__ import annotations

from typing import Final

BYTE: Final = 0xDB

# Arrow's own allocators know nothing of it.
ENVIRONMENT: Final = {"MALLOC_PERTURB_": str(BYTE), "ARROW_DEFAULT_MEMORY_POOL": "system"}

# Prints what is in a block after it was freed.
SHOW_FREED_MEMORY: Final = """
import ctypes
c = ctypes.CDLL(None)
c.malloc.restype = ctypes.c_void_p
c.free.argtypes = [ctypes.c_void_p]
block, after = c.malloc(100_000), c.malloc(100_000)
ctypes.memset(block, 1, 100_000)
c.free(block)
# The allocator keeps its own notes at both ends.
print(set((ctypes.c_ubyte * 99_000).from_address(block + 64)))
"""
