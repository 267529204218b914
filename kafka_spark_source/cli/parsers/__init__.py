"""The arguments of each command, as argparse has them, for `--help` and for completion.

A parser names the function that runs its command, `run=("topics", "list")`: the module in `cli`,
and the key in its `COMMANDS`. No such module is imported here, and neither rich nor PyArrow.
"""
