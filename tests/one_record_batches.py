"""A plugin of pytest: librdkafka writes each record in a log batch of its own.

    python -m pytest -p tests.one_record_batches tests/integration

librdkafka puts into one log batch what comes within `linger.ms`: on a busy machine less than
elsewhere. A test that depends on it passes for months, and then fails; with this plugin it fails
always. It is imported before the modules that import the producer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import confluent_kafka

_ONE_RECORD: Final = {"linger.ms": 0, "batch.num.messages": 1}


class OneRecordProducer(confluent_kafka.Producer):
    """A producer that ignores the settings of its caller about log batches."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__({**config, **_ONE_RECORD})


setattr(confluent_kafka, "Producer", OneRecordProducer)  # noqa: B010 - mypy refuses an assignment
