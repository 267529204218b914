"""The schemas of a query's keys and values: found once, when it is planned; in Spark on the driver.

Tasks get a decoder or an encoder, pickled.
"""
