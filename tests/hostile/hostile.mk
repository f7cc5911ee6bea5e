# Hostile text in every string of the official models (and many more with FULL=1) never becomes code, a C compiler's warning or a
# terminal's control sequence; a model may use names that C's headers, onnxcc's headers and the emitted code define. M='test_relu*':
# only these models.
# Parts: emit/quote, emit/names, base/error.
TESTS += hostile
test-hostile: setup all
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@B=$(abspath $(B)) FULL=$(FULL) $(PYTHON) tests/hostile/run.py $(CACHE)/suite $(M)
.PHONY: test-hostile
