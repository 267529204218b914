"""Kafka's wire format: what a schema of a message is, its bytes, and frames of requests.

Knows no API and no release. No I/O, no clock, neither numpy nor pyarrow (one exception: memory of
large frames, `framing`). Values of messages and what they mean stand in `messages` and above.
"""
