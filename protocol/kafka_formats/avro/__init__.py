"""Avro's binary encoding: schemas, their resolution, and payloads of many records at once."""
