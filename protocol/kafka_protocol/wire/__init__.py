"""Kafka's wire format: schemas of messages, their bytes, and frames of requests.

Knows no API and no release. No I/O, no clock, neither numpy nor pyarrow (one exception: memory of
large frames, `framing`). Values of messages and their meaning stand in `messages` and above.
"""
