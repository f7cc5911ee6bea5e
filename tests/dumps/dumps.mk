# For each rewrite the graph (-d) of a small model after it, and a model that it leaves unchanged, with the remark that says why.
# D='epilogue/*': only these cases; UPDATE=1 rewrites the dumps, which must be read before they are committed.
TESTS += dumps
test-dumps: setup all
	@ONNXCC=$(abspath $(B))/onnxcc $(PYTHON) tests/dumps/run.py $(if $(UPDATE),--update) $(foreach d,$(D),'$(d)')
.PHONY: test-dumps
