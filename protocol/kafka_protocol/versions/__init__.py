"""Which version of each API to speak: what a broker says, what a release has, what needs which.

`connection` is the state of a connection without its socket. No I/O, no clock, and nothing about
records.
"""
