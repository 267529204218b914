"""Writing: record batches in order for each partition, producer ids, and transactions.

Never sees rows or Arrow: `columnar` encodes the batches.
"""
