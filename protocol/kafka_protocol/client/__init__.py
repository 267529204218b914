"""The Kafka client: the only room with sockets, clocks and sleeps.

Each room imports only the rooms after it: `pool`, `producer`, `consumer`, `cluster`, `broker`,
`network`, `clock`, `config`. No Arrow, no Spark: the client reads and writes record batches.
"""
