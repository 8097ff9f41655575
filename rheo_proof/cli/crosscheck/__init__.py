"""Decoders against the exact law, without statistics: the one part of the package that sees both."""
