# Products of matrices and convolutions of every number of outputs, rows, inputs and groups up to 70, on every machine of
# tests/machines/table.py: with a machine's own --target or without, the other one for the next commit. M='qconv*': only these
# models; P='aarch64 armhf': on these machines, both.
# Parts: passes/layout, passes/fuse, emit/emit_call, emit/emit_kernels.
TESTS += products
test-products: setup all $(B)/suite/run $(B)/include/onnxcc
	@B=$(B) $(PYTHON) tests/products/run.py '$(M)' '$(P)' $(OLD_TURN)
.PHONY: test-products
