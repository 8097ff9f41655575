.PHONY: check test docs bench

# Needs the environment of CONTRIBUTING.md, activated.

check:
	ruff format --check
	ruff check
	mypy
	pytest tests/exact

test:
	pytest

docs:
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict

bench:
	python benchmarks/enumerator.py
