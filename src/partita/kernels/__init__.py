"""Numba loops on flat arrays: no classes, no policy. The callers validate, allocate and decide."""
