"""`partita explain`: a module for each kind of model."""
