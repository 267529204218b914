"""All brokers of a cluster: metadata, leaders, coordinators, topics and consumer groups.

Never reads or writes records: `consumer` and `producer` do.
"""
