"""Translation by latent-variable conditional random fields over synchronous grammars."""
