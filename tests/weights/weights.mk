# Weights that stay as they are stored: the same bits as with --expand-weights, numpy's results, no more bytes than the model.
# Parts: ops/stored, ops/unfold, ops/matmul, ops/conv, ops/rnn, ops/experts.
TESTS += $(call in-turn,3,weights)
test-weights: setup all
	@B=$(B) $(PYTHON) tests/weights/run.py $(call turn-of,$(SETS))
.PHONY: test-weights
