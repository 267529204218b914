"""Record batches <-> Arrow columns, many records at a time.

Beside `arrow_io` the only package of the protocol half that imports numpy and pyarrow. It is
optimised for speed; tests compare it with the simple code in `records`. It must never create an
object per record. No I/O, and nothing of the client.
"""
