"""Talking to brokers: the only room with sockets, clocks and sleeps.

`config` -> `transport` -> `broker` -> `cluster` -> `offsets`, `fetch`, `produce`; each stands on
the ones before it. No Arrow, no Spark: what comes in or goes out are record batches.
"""
