# What the emitted code promises: no warning, no heap, symbols, the same bytes, other processors, weights anywhere.
# Parts: base/target, emit, memory.
TESTS += emitted
test-emitted: setup all
	@B=$(abspath $(B)) $(PYTHON) tests/emitted/run.py $(M)
.PHONY: test-emitted

# What the level of the C compiler does to the size of its text and of its stack; of the official tests of operators one of
# SIZES_EVERY, with every commit others.
TESTS += levels
SIZES_EVERY ?= 160
test-levels: setup all
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@B=$(abspath $(B)) $(PYTHON) tests/emitted/levels.py $(CACHE)/suite --every $(SIZES_EVERY) --turn $(OLD_TURN) $(M)
.PHONY: test-levels
