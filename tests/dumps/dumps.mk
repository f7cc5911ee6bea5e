# What each rewrite does to a small model, and one that it leaves alone with the remark that says why: the graph as -d prints it.
# D='epilogue/*': only these cases; UPDATE=1 writes the dumps anew, to be read before they are committed.
TESTS += dumps
test-dumps: setup all
	@ONNXCC=$(abspath $(B))/onnxcc $(PYTHON) tests/dumps/run.py $(if $(UPDATE),--update) $(foreach d,$(D),'$(d)')
.PHONY: test-dumps
