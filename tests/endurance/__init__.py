"""Real brokers and real clients for hours, under load and faults; each run checks what it did.

`chaos` copies a topic while everything fails, `soak` looks for what grows, `torture` reads and
writes random topics in random ways. Each is a command (`make chaos`, `make soak`, `make torture`);
a minute of each is a test in `tests/integration`.
"""
