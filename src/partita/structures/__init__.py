"""What the parts of a structure are: shapes in, encodings out. The loops are in `kernels`."""
