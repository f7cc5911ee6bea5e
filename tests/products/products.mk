# Products of matrices and convolutions with every number of outputs, rows, inputs and groups up to 70, on every machine of
# tests/machines/table.py. M='qconv*': only these models; P='aarch64 armhf': only on these machines.
# Parts: passes/layout, passes/fuse, emit/emit_call, emit/emit_kernels.
TESTS += products
test-products: setup all $(B)/suite/run $(B)/include/onnxcc
	@B=$(B) $(PYTHON) tests/products/run.py '$(M)' '$(P)'
.PHONY: test-products
