"""Columns -> record batches, and the partition of each row.

`encode` and `routing` are the ways in. Never an object per row, and no I/O.
"""
