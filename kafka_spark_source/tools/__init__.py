"""Answers for operators about topics and queries, as plain values.

Commands print these values; nothing is printed here. No pyspark: a checkpoint is read as files.
"""
