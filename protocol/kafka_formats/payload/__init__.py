"""Columns of payloads <-> columns of values, whatever the format; and the tasks of a format."""
