"""JSON: payloads as Spark's `from_json` reads them and `to_json` writes them. Values only."""
