# Hostile text in every string of one of eight official models, others for every commit, never becomes code, a C compiler's warning or a
# terminal's control sequence; a model may use names that C's headers, onnxcc's headers and the emitted code define. FULL=1: all models,
# all names in every place. M='test_relu*': only these models.
# Parts: emit/quote, emit/names, base/error.
TESTS += hostile
test-hostile: setup all
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@B=$(abspath $(B)) FULL=$(or $(FULL),$(filter all,$(GROUPS))) $(PYTHON) tests/hostile/run.py $(CACHE)/suite $(OLD_TURN) $(M)
.PHONY: test-hostile
