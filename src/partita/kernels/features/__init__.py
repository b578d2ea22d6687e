"""Gathering scores from weights, and scattering gradients back."""
