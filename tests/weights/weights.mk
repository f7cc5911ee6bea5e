# Weights that stay as they are stored: the bits of --expand-weights, numpy's results, and the bytes of the model.
# Parts: ops/stored, ops/matmul, ops/conv.
TESTS += weights
test-weights: setup all
	@B=$(B) $(PYTHON) tests/weights/run.py
.PHONY: test-weights
