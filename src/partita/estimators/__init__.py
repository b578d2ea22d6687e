"""Models to use: they assemble what the layers below offer, and hold no mathematics."""
