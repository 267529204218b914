"""A batch read: planning on the driver, and reading an offset range in a task.

Tasks of streams use the same code. Never imports `streaming` or `writing`.
"""
