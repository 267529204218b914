"""The command `pykafka`: tools for operators, and a local Kafka and schema registry to try things.

`pykafka lag | checkpoint | offsets | peek | topics | dead-letters` print the values of `tools`, and
`write` gives it lines to write.
`pykafka broker start` returns when the broker is ready and leaves it running; `pykafka registry`
does the same with schema registries. This room has only arguments, output and exit codes. `parsers`
is imported at once, and the module of a command when it runs (`command`).
"""

from kafka_spark_source.cli.command import main

__all__ = ["main"]
