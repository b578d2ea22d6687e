"""The most memory that a process has had; without NumPy, so that peers need not have it either."""

from pathlib import Path


def peak_bytes() -> int:
    """Of this process; not getrusage, which may give its parent's."""
    status = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in status if line.startswith("VmHWM")))


def peak_gigabytes() -> float:
    """The same in units of 2**30 bytes."""
    return peak_bytes() / 2**30
