"""Estimators of segments: words in a row with a tag, such as names, chunks and fields."""
