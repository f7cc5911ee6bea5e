# Tensors as outputs and inputs (--tap, --until, --from); the verdicts of --eval and `onnxcc verify`. Expected values are ONNX Runtime's.
# Parts: passes/cut, passes/taps, passes/container_data, ir/data, ir/difference, emit/eval, verify.
TESTS += $(call in-turn,0,verify)
test-verify: setup all
	@B=$(abspath $(B)) $(PYTHON) tests/verify/run.py
.PHONY: test-verify

# `onnxcc stack`, compared with the stack that programs use.
# Parts: verify/stack.
TESTS += $(call in-turn,6,stack)
test-stack: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) $(PYTHON) tests/verify/stack.py $(M)
.PHONY: test-stack
