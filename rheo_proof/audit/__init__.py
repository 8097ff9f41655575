"""The auditor: the exact law of somebody else's verifier, unchanged, by enumerating the randomness that it asks for."""
