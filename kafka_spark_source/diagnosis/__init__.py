"""Why something does not work: findings, each with its cure, as plain values.

Nothing is printed or changed here. No pyspark.
"""
