"""The APIs of a simulated broker: a table of functions, one for all versions of each API."""
