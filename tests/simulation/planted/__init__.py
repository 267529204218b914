"""Faults that are planted into a copy of the product, one at a time, to see whether they are found.

python -m tests.simulation.planted                    # all, each for two minutes at most
python -m tests.simulation.planted --only "epoch"     # those with this in their names
"""
