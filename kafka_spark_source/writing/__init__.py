"""The sink: rows to record batches in a task, and the decisions of exactly-once writes.

Never imports `reading` or `streaming`, nor they it.
"""
