# What the emitted code promises: no warning, no heap, symbols, the same bytes, other processors, weights anywhere.
# Parts: emit, memory.
TESTS += emitted
test-emitted: setup all
	@B=$(abspath $(B)) $(PYTHON) tests/emitted/run.py $(M)
.PHONY: test-emitted
