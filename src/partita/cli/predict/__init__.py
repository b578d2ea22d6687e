"""`partita predict`: a module for each kind of model."""
