# Hostile text in every string of the official models (and many more with FULL=1): none becomes code, nothing that a C compiler
# or a terminal minds; and names that C's headers, ours and the emitted code's own have. M='test_relu*': these models alone.
# Parts: emit/quote, emit/names, base/error.
TESTS += hostile
test-hostile: setup all
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@B=$(abspath $(B)) FULL=$(FULL) $(PYTHON) tests/hostile/run.py $(CACHE)/suite $(M)
.PHONY: test-hostile
