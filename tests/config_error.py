from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

import pytest

from kafka_protocol.errors import KafkaConfigError

P = ParamSpec("P")


def config_error(call: Callable[P, object], *args: P.args, **named: P.kwargs) -> str:
    """The text of the KafkaConfigError that a call raises."""
    with pytest.raises(KafkaConfigError) as caught:
        call(*args, **named)
    return str(caught.value)
