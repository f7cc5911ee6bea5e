# The rules of the repository (walls.py): names, includes, symbols and sizes that are allowed in each folder, the format; the runtime has
# only three undefined symbols. `make lint` is `make test-lint`. Warnings of gcc and clang: test-bytes.
TESTS += lint
lint: test-lint
test-lint: setup all
	@B=$(B) $(PYTHON) tests/lint/walls.py
.PHONY: lint test-lint
