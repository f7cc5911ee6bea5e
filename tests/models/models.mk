# Trained networks, and networks with random weights, compared with ONNX Runtime: one of MODELS_EVERY, others for every commit;
# MODELS_EVERY=1: all; M='minilm* resnet50': only these.
# Parts: passes/layout, passes/fuse, passes/simplify, memory, emit/eval.
TESTS += $(call in-turn,4,models)
MODELS_EVERY ?= 8
test-models: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) CC="$(CC)" $(PYTHON) tests/models/run.py $(MODELS_EVERY) $(call turn-of,$(SETS)) $(M)
.PHONY: test-models
