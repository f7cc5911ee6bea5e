# Training models as C, step by step beside numpy; random updates; saved states; new values in place; random numbers as state;
# samples/train's network and its tool, beside numpy; an LSTM, a transformer's block, weights that the program loads.
# Parts: passes/training, ops/random, ops/entry, emit/emit_training, memory/share, memory/order.
TESTS += training
test-training: setup all
	@B=$(abspath $(B)) $(PYTHON) tests/training/run.py
	@B=$(abspath $(B)) $(PYTHON) tests/training/updates.py
	@B=$(abspath $(B)) $(PYTHON) tests/training/draws.py
	@B=$(abspath $(B)) $(PYTHON) tests/training/written.py
	@B=$(abspath $(B)) $(PYTHON) tests/training/networks.py
	@B=$(abspath $(B)) ONNXCC_CACHE=$(CACHE) $(PYTHON) tests/training/digits.py
.PHONY: test-training
