"""Record batches <-> Arrow columns, many records at a time.

The only room of this half that imports numpy and pyarrow, and the only one that knows speed
tricks; `records` is the readable truth that it is compared with. No object is made per record in
either direction. No I/O.
"""
