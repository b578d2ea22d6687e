"""`partita evaluate`: a module for each kind of model."""
