"""The options of formats: a table of them, and the checked, frozen values of a read or a write.

Pure: neither numpy nor Arrow nor I/O.
"""
