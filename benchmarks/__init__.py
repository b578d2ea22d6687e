"""Benchmarks: each prints a table and writes it as JSON. Run one with `make bench-NAME`."""
