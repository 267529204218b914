"""Real brokers and real clients for hours, under load and faults; each run checks what it did.

`torture` reads and writes random topics in random ways, and copies a topic while everything fails;
`soak` looks for what grows. Each is a command (`make torture`, `make soak`); `make chaos` is the
copies alone. A minute of each is a test in `tests/integration`.
"""
