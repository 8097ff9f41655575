"""The command `rheo-decode`: text from a language model with draft trees, and what they were worth.

A package of its own, so that it can read its arguments and say what is missing before torch is loaded, or where it is
not installed.
"""
