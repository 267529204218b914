"""The schemas of a query's keys and values: found on the driver, when a query is planned.

Decoding is in `kafka_formats`; no pyspark here.
"""
