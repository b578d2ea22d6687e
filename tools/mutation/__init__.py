"""Mutation testing: small mistakes are made on purpose, and the tests are to notice them."""
