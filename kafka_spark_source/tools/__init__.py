"""What an operator asks of topics and of queries, as plain values.

Commands print these values; nothing is printed here. No pyspark: a checkpoint is read as files.
"""
