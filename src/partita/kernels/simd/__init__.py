"""Vector registers: lanes side by side, their exponential, numbers without bounds, prefetching."""
