"""Fuzzing: readers, model files, checkpoints, commands and distributions get what nobody sends."""
