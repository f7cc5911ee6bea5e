# C99 without extensions (--target plain): the same bits as for generic by gcc, clang and tcc, no word of an extension, no recursion.
# NETWORKS='mlp cnn': of these networks alone. Parts: plain/cpp, plain/macro, plain/condition, plain/tokens, plain/parse, plain/parse_top,
# plain/analyse, plain/value, plain/types, plain/cut, plain/sweep, plain/used, plain/print, plain/plain, base/wrap.
TESTS += plain
test-plain: setup all
	@$(PYTHON) tests/plain/run.py $(B)/onnxcc $(B)/plain-networks $(NETWORKS)
.PHONY: test-plain

# Frama-C's EVA, of Debian's frama-c-base, on networks of the same: no alarm, whatever the inputs.
PROVED ?= layer_norm if loop forest mlp mlp_int8 lstm gru transformer bounded
test-proof: all
	@$(PYTHON) tests/plain/proof.py $(B)/onnxcc $(B)/proof $(or $(NETWORKS),$(PROVED))
.PHONY: test-proof
