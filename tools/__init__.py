"""Programs for developers, outside the package."""
