"""How results are shown: on the console, as JSON, as pages of the documentation."""
