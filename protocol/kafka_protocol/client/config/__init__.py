"""The "kafka.*" options of a client as typed, frozen values. No I/O.

Knows nothing of brokers; all other rooms of the client take these values.
"""
