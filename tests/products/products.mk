# Products of matrices and convolutions with every number of outputs, rows, inputs and groups up to 70, on every machine of
# tests/machines/table.py, of those in IN_TURN on one, another for every commit. M='qconv*': only these models; P='aarch64 armhf': only
# on these machines. Of the machines with a --target of their own, one runs code for generic, too, another for every commit; with P each.
# Parts: passes/layout, passes/fuse, emit/emit_call, emit/emit_kernels.
TESTS += products
test-products: setup all $(B)/suite/run $(B)/include/onnxcc
	@B=$(B) $(PYTHON) tests/products/run.py $(OLD_TURN) '$(M)' '$(P)'
.PHONY: test-products
