"""Models to use: taggers, parsers, aligners, translators. They assemble, and hold no mathematics."""
