"""Statements about schemes: what is proved, for which models, and the smallest model that refutes it."""
