"""Arrow arrays as buffers: their memory, offsets, slices and views, varints, and groups of rows.

Knows what a column is, and not how records are laid out in a batch; `headers` is the exception, as
reads and writes share it. No I/O.
"""
