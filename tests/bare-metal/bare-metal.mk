# samples/bare-metal on a Cortex-M4, M7, M55 and a 32-bit RISC-V in QEMU: the same bits as on a PC, the self-test of --emit-test,
# weights and arena at their addresses, no heap.
# Parts: emit/vectors, ir/random.
TESTS += $(call in-turn,3,qemu)
test-qemu: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) CC="$(CC)" tests/bare-metal/run
.PHONY: test-qemu

# Weights and arena in sections of each model, placed by the linker scripts of docs/embedding.md.
# Parts: emit/weights.
TESTS += placement
test-placement: setup all
	@B=$(B) $(PYTHON) tests/bare-metal/placement.py
.PHONY: test-placement
