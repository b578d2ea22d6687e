"""Word alignment: generative models, their symmetrisation, and the estimator in front of them."""
