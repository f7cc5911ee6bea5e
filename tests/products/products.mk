# Products of matrices and convolutions of every number of outputs, rows, inputs and groups up to 70, for every width of
# vectors that this processor has. M='qconv*': these models alone.
TESTS += products
test-products: setup all
	@B=$(abspath $(B)) $(PYTHON) tests/products/run.py $(M)
.PHONY: test-products
