"""Random topics, read and written in random ways under faults; each row is compared.

    python -m tests.endurance.torture --minutes 120 --seed 7

Three brokers behind proxies, and rounds until the time is over. In each, topics are drawn from the
seed and written by librdkafka, which then reads the truth. Queries of all ways are drawn and run
while brokers, network and Spark's workers fail, and what they read or wrote is compared with the
truth. Then the topics are changed.

After some rounds comes a session of copies: a topic that is written all the time is copied three
times while several things fail at once, and no copy may stand still for long. `--way copies` is
this alone, `make chaos`.

A seed fixes what is drawn; not what the machine does meanwhile.
"""
