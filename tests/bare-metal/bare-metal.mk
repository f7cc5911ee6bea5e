# A network on a bare Cortex-M4 and M7, in QEMU: the same bits as on a PC, no undefined behaviour, no heap.
TESTS += qemu
test-qemu: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) CC="$(CC)" tests/bare-metal/run
.PHONY: test-qemu

# Weights and arena in sections of the model's own, by the linker scripts of docs/embedding.md.
# Parts: emit/weights.
TESTS += placement
test-placement: setup all
	@B=$(B) $(PYTHON) tests/bare-metal/placement.py
.PHONY: test-placement
