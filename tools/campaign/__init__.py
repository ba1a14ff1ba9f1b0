"""Random programs on torch and on pullback, compared line by line: `python -m tools.campaign --minutes 30`.

A program is a list of lines of Python in which `T` is the library. What is where:

| file | what it has |
|---|---|
| `prelude.py` | what programs may use: tensors of random numbers in any layout, custom Functions |
| `expressions.py` | the tables of expressions that programs are made of |
| `graphs.py` | writes programs of operations, views, writes, hooks, and a backward pass of some kind |
| `scenarios.py` | writes the others: transforms, passes that repeat, modules and optimizers |
| `running.py` | runs a program on both libraries and says where they differ first |
| `judging.py` | tells rounding, ties and known faults of torch from differences |
| `shrinking.py` | makes a program minimal that shows a difference, and a script of it |
| `worker.py`, `children.py` | the processes that do it, and the one that watches them |
"""
