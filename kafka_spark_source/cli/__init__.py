"""The command `pykafka`: a local Kafka and a local schema registry, to try the data source.

`pykafka broker start` returns when the broker is ready and leaves it running; `status` shows the
running brokers, and `stop` ends them. `pykafka registry` does the same with schema registries. This
room has only arguments and exit codes.
"""

from kafka_spark_source.cli.command import main

__all__ = ["main"]
