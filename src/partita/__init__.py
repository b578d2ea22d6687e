"""Partita: exact structured prediction over sequences, trees and forests."""

from partita.distribution.linear_chain import LinearChain

__version__ = "0.1.0"

__all__ = ["LinearChain", "__version__"]
