"""rheo-proof: exact proofs and smallest counterexamples for speculative-decoding verifiers."""

__version__ = "0.1.0"
