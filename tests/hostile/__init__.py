"""Everything from outside is drawn: a registry and a broker try to give orders.

`audit` sees which processes, files, addresses and modules a piece of code reaches for; `names` are
names that would be orders somewhere. Each test draws a whole conversation: 500 in `make test`,
50,000 in `make test-all`.
"""
