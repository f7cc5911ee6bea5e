# Tensors as outputs and inputs (--tap, --until, --from); what --eval and `onnxcc verify` find right and wrong. Expected values are
# ONNX Runtime's.
# Parts: passes/cut, passes/taps, passes/container_data, ir/data, ir/difference, emit/eval, verify.
TESTS += verify
test-verify: setup all
	@B=$(abspath $(B)) $(PYTHON) tests/verify/run.py
.PHONY: test-verify

# `onnxcc stack` beside the stack that programs are seen to use.
# Parts: verify/stack.
TESTS += stack
test-stack: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) $(PYTHON) tests/verify/stack.py $(M)
.PHONY: test-stack
