"""The offsets of a read: pure arithmetic on options, partitions and offsets.

No I/O, no clock, no logging, no pyspark.
"""
