"""Random topics, read and written in random ways under faults; each row is compared.

    python -m tests.endurance.torture --minutes 120 --seed 7

Three brokers, and rounds until the time is over. In each, topics are drawn from the seed and
written by librdkafka, which then reads the truth. Queries of all ways are drawn and run while
brokers and Spark's workers fail, and what they read or wrote is compared with the truth. Then the
topics are changed.

A seed fixes what is drawn; not what the machine does meanwhile.
"""
