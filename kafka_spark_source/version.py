"""The version of the distribution, which both halves share."""

from kafka_protocol.version import __version__

__all__ = ["__version__"]
