# C99 without extensions (--target plain): with gcc, clang and tcc the same bits as code for generic; no word of an extension, no recursion.
# NETWORKS='mlp cnn': only these networks. Parts: plain/cpp, plain/macro, plain/condition, plain/tokens, plain/parse, plain/parse_top,
# plain/analyse, plain/value, plain/types, plain/cut, plain/sweep, plain/used, plain/print, plain/plain, base/wrap.
TESTS += plain
test-plain: setup all
	@$(PYTHON) tests/plain/run.py $(B)/onnxcc $(B)/plain-networks $(NETWORKS)
.PHONY: test-plain

# Frama-C's EVA (Debian's frama-c-base) on some of the networks: no alarm, whatever the inputs.
PROVED ?= layer_norm if loop forest mlp mlp_int8 lstm gru transformer bounded
test-proof: all
	@$(PYTHON) tests/plain/proof.py $(B)/onnxcc $(B)/proof $(or $(NETWORKS),$(PROVED))
.PHONY: test-proof
