"""Helpers that test files written for torch import from here: test cases, parametrisation, devices, dtypes.

The names are torch's, the code is ours, and only what a CPU library can mean is here: tests for other devices are skipped.
"""
