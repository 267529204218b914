"""A streaming read on the driver: where it starts, and how far each micro-batch goes.

Its tasks are in `reading`. Never imports `writing`.
"""
