"""The schema ids in frames: payloads -> groups of one schema. No schema is read here."""
