"""The whole client in one process, in virtual time, from a seed."""
