"""Real brokers and real Spark under faults from a seed, and a check that nothing is lost.

    python -m tests.endurance.chaos --minutes 30 --seed 7

Three brokers stand behind proxies. A writer (librdkafka) writes unique values to a topic, some of
them in transactions that it aborts. One Spark driver with two executors copies the topic three
times: at least once and exactly once to other topics, and to files. Faults come in rounds: those of
a round overlap, then all are repaired, and every copy must catch up in time. librdkafka reads the
topics for the check, without the proxies.

A seed fixes the rounds, their faults, lengths and victims; not what the machine does meanwhile.
"""
