"""Bytes of record batches -> columns.

`decode` is the way in. Never an object per record; no I/O; never imports `writing`.
"""
