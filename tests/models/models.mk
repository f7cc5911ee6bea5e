# Trained networks, and networks with random weights, compared with ONNX Runtime. M='minilm* resnet50': only these.
# Parts: passes/layout, passes/fuse, passes/simplify, memory, emit/eval.
TESTS += models
test-models: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) CC="$(CC)" $(PYTHON) tests/models/run.py $(M)
.PHONY: test-models
