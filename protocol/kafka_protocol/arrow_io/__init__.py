"""Topics as Arrow: joins `columnar`, which does no I/O, and `client`, which knows no Arrow.

Used by Spark's tasks and without Spark. No bytes and no sockets here. The documented paths of
`topic` and `table` are in `kafka_protocol.columnar`.
"""
