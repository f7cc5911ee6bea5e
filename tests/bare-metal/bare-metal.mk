# A network on a bare Cortex-M4 and M7, in QEMU: the same bits as on a PC, no undefined behaviour, no heap.
TESTS += qemu
test-qemu: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) CC="$(CC)" tests/bare-metal/run
.PHONY: test-qemu
