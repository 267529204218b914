"""Columns of payloads <-> columns of values, whatever the format; and what a format has to do."""
