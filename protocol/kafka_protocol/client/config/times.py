"""Times that are not options: users have had no reason to change them, but tests shorten them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The times, in ms.

    Attributes:
        topic_grace_ms: How long to ask again for a topic that a broker does not know. It may be
            new: brokers learn of a topic, and elect its leaders, within a second or two.
        topic_changed_ms: How long responses must say that a topic is deleted, or re-created: a
            cache, or one broker for a moment, may be older than the topic.
        listener_probe_ms: How long to wait on the connection that shows why a listener closed
            another one.
    """

    topic_grace_ms: int = 3_000
    topic_changed_ms: int = 1_000
    listener_probe_ms: int = 1_000
