"""The documented path of `kafka_protocol.arrow_io.table`."""

from kafka_protocol.arrow_io.table import write_table

__all__ = ["write_table"]
