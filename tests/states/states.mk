# States (--state): every run of the emitted C, under sanitizers, compared with ONNX Runtime, which gets its outputs back as inputs.
# Parts: passes/state, memory/share, memory/pitch, emit/emit_state.
TESTS += $(call in-turn,8,states)
test-states: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) $(PYTHON) tests/states/run.py $(M)
.PHONY: test-states
