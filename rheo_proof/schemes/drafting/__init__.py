"""Drafting methods, one file each: how a draft tree comes about."""
