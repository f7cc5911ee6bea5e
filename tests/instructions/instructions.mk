# Instructions per inference of MLPerf Tiny's networks, in 8-bit integers and float32, on small processors, counted in QEMU;
# P='cortex-m4 float32 image': only these; UPDATE=1 rewrites figures.txt; PROFILE=1 prints the functions that take most.
# Parts: ops/integer, ops/integer_micro, ops/requantize, passes/layout.
TESTS += $(call in-turn,5,instructions)
test-instructions: setup all $(B)/suite/run
	@ONNXCC_CACHE=$(CACHE) B=$(B) $(PYTHON) tests/instructions/instructions.py $(P)
.PHONY: test-instructions

# Bytes of arena and code of the same networks.
# Parts: ops/integer_micro, memory/plan, emit.
TESTS += footprint
test-footprint: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) $(PYTHON) tests/instructions/footprint.py
.PHONY: test-footprint
