# Tensors as outputs and inputs (--tap, --until, --from); what --eval and `onnxcc verify` find right and wrong. Expected values are
# ONNX Runtime's.
# Parts: passes/cut, ir/difference, emit/eval, verify.
TESTS += verify
test-verify: setup all
	@B=$(abspath $(B)) $(PYTHON) tests/verify/run.py
.PHONY: test-verify
