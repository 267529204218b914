"""The names that topics can have. Source: `org.apache.kafka.common.internals.Topic`. Pure."""

from __future__ import annotations

import re
from typing import Final

from kafka_protocol.errors import KafkaConfigError

_MAX_LENGTH: Final = 249
_NAME: Final = re.compile(rf"(?!\.{{1,2}}\Z)[a-zA-Z0-9._-]{{1,{_MAX_LENGTH}}}")
_LONGEST_QUOTE: Final = 60


def is_topic_name(text: str) -> bool:
    """Whether a topic can have this name."""
    return _NAME.fullmatch(text) is not None


def check_topic_name(option: str, name: str) -> None:
    """Check a name that an option has.

    Raises:
        KafkaConfigError: No broker would accept it.
    """
    if not is_topic_name(name):
        quote = name if len(name) <= _LONGEST_QUOTE else f"{name[:_LONGEST_QUOTE]}..."
        raise KafkaConfigError(
            f"Option '{option}' names the topic {quote!r} ({len(name)} characters), and brokers "
            f"accept 1 to {_MAX_LENGTH} letters of a-z and A-Z, digits, '.', '_' and '-': correct "
            "the name."
        )
