# Training models as C, step by step beside numpy; random updates; saved states; new values in place; random numbers as state, and whole
# runs, on other machines; samples/train's network and its tool, beside numpy; an LSTM, a transformer's block, weights that the program
# loads; a keyword spotter's head in 32 KB of RAM; the cost of a step beside inference.
# Parts: passes/training, ops/random, ops/entry, emit/emit_training, memory/share, memory/order.
TESTS += training
test-training: setup all
	@for t in run updates draws written networks digits spotter speed; do \
		B=$(abspath $(B)) ONNXCC_CACHE=$(CACHE) $(PYTHON) tests/training/$$t.py || failed=1; done; [ -z "$$failed" ]
.PHONY: test-training

# Modules of PyTorch, and the artifacts of onnxruntime-training, as training models: their C beside PyTorch and ONNX Runtime.
test-training-torch: setup all
	@tests/training/setup $(CACHE)
	@B=$(abspath $(B)) $(CACHE)/training-venv/bin/python tests/training/torch_net.py
.PHONY: test-training-torch
