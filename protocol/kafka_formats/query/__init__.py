"""A query: the schemas of its keys and values, found once when it is planned, and its stages.

In Spark the driver plans; tasks get stages or an encoder, pickled.
"""
