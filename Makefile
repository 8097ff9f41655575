.PHONY: check test law gpu docs bench proofs

# Needs the environment of CONTRIBUTING.md, activated.

check:
	ruff format --check
	ruff check
	mypy
	pytest tests/exact

test:
	pytest

law:
	pytest tests/tape tests/law tests/power

gpu:
	python benchmarks/gpu_check.py

docs:
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict

bench:
	python benchmarks/enumerator.py
	python benchmarks/policies.py
	python benchmarks/reference.py
	python benchmarks/torch_decoder.py

# Needs Coq 8.16 and MathComp 1.15: apt-get install coq libcoq-mathcomp-algebra
# What coqchk reads again takes as long as the rest: it runs beside.
proofs:
	$(MAKE) -C proofs
	python3 proofs/check.py kernel & kernel=$$!; status=0; \
	{ python3 proofs/check.py sources assumptions statements && python3 proofs/mutants.py; } || status=1; \
	wait $$kernel || status=1; exit $$status
