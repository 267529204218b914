"""The way `copies`: a topic that is written all the time, and copied under faults that overlap.

Writers (librdkafka) write unique values to a topic, some of them in transactions that they abort.
One Spark driver with two executors copies the topic three times, through proxies: at least once and
exactly once to other topics, and to files. Faults come in rounds: those of a round overlap, then
all are repaired, and every copy must catch up in time. librdkafka reads the topics for the check,
without the proxies.
"""
