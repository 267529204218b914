"""Faults that are planted into a copy of the product, one at a time, to see whether they are found.

make test-planted                                     # all; writes docs/reliability.md, too
python -m tests.simulation.planted --wings            # those that tests hunt for
python -m tests.simulation.planted --only "epoch"     # those with this in their names
"""
