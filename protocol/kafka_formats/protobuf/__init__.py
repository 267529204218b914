"""Protobuf: schemas, payloads -> values and back. Needs the extra `protobuf`."""
