"""The version of the distribution, shared with kafka_protocol."""

from kafka_protocol.version import __version__

__all__ = ["__version__"]
