"""`partita train`: a module for each kind of model."""
