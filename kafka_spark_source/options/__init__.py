"""Options: one table of all of them, and the checked, frozen values of a read or a write.

No I/O, no pyspark. Uses `planning` for positions and strategies.
"""
