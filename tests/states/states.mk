# States (--state): every step of emitted C, under sanitizers, against ONNX Runtime, which is given its outputs again.
# Parts: passes/state, memory/share, memory/pitch, emit/emit_state.
TESTS += states
test-states: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) $(PYTHON) tests/states/run.py $(M)
.PHONY: test-states
