"""Contenders of the benchmark ``outer_iteration.py``: the same outer iteration, written by many."""
