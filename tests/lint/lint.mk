# The rules of the repository (walls.py): names, includes, symbols and sizes that are allowed in each folder, the format; gcc and clang
# compile all of onnxcc without a warning; the runtime has only three undefined symbols. `make lint` is `make test-lint`.
TESTS += lint
lint: test-lint
test-lint: setup all $(HOST_KERNELS)
	@MAKEFLAGS= B=$(B) $(PYTHON) tests/lint/walls.py "$(MAKE) --no-print-directory --silent -j$$(nproc) HOST=$(B)/host CFLAGS='-O0 -Werror'"
.PHONY: lint test-lint
