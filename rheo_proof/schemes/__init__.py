"""What is proved: every drafting method and verification rule, written once against `Chance`."""
