"""Verification rules, one file each: how one string comes out of a draft tree."""
