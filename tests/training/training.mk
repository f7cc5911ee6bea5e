# The C of training models, compared with numpy step by step; random updates; saved states; new values in place; random numbers, also on
# other machines; samples/train's network and tool; an LSTM, a transformer block, weights that the program loads; a keyword spotter's head
# in 32 KB of RAM; the cost of a step relative to inference.
# Parts: passes/training, ops/random, ops/entry, emit/emit_training, memory/share, memory/order.
TESTS += $(call in-turn,2,training)
TRAINING = run updates draws written networks digits spotter speed
test-training: setup all
	@for t in $(TRAINING); do B=$(abspath $(B)) ONNXCC_CACHE=$(CACHE) $(PYTHON) tests/training/$$t.py; done | awk '{ print } \
		/^training [a-z]+: [0-9]+ passed, [0-9]+ failed$$/ { p += $$3; f += $$5; n++ } \
		END { f += $(words $(TRAINING)) - n; print "training: " p + 0 " passed, " f " failed"; exit f > 0 }'
.PHONY: test-training

# Modules of PyTorch, and the artifacts of onnxruntime-training, as training models: their C compared with PyTorch and ONNX Runtime.
test-training-torch: setup all
	@tests/training/setup $(CACHE)
	@B=$(abspath $(B)) $(CACHE)/training-venv/bin/python tests/training/torch_net.py
.PHONY: test-training-torch
