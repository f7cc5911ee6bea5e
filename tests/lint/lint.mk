# The rules between folders: which names, includes and sizes are allowed where (walls.py); no warning from either compiler on the
# whole of onnxcc; the runtime has no undefined symbols but three. `make lint` is the same as `make test-lint`.
TESTS += lint
lint: test-lint
test-lint: setup all $(HOST_KERNELS)
	@MAKEFLAGS= B=$(B) $(PYTHON) tests/lint/walls.py "$(MAKE) --no-print-directory --silent -j$$(nproc) HOST=$(B)/host CFLAGS='-O0 -Werror'"
.PHONY: lint test-lint
