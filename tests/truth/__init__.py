"""What tests prove about records: what was sent, what was seen, what is allowed. Pure.

One checker for each promise, whoever judges: streams on real brokers, `tests/endurance`, and the
simulated world. Each checker gets plain values and returns what is wrong; an empty result is a
proof. One shrinker makes the scenario of a failure small. Nothing here imports a judge, brokers or
Spark.
"""
