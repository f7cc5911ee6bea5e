# C99 without extensions (--target plain): with gcc, clang and tcc the same bits as code for generic; no word of an extension, no recursion.
# NETWORKS='mlp cnn': only these networks. Parts: plain/cpp, plain/macro, plain/condition, plain/tokens, plain/parse, plain/parse_top,
# plain/analyse, plain/value, plain/types, plain/cut, plain/sweep, plain/used, plain/print, plain/plain, base/wrap.
TESTS += plain
test-plain: setup all
	@$(PYTHON) tests/plain/run.py $(B)/onnxcc $(B)/plain-networks $(NETWORKS)
.PHONY: test-plain

# Every line of the networks' C is executed. Parts: plain/trace, plain/trace_place, plain/trace_loop, plain/state.
TESTS += plain-coverage
test-plain-coverage: setup all
	@$(PYTHON) tests/plain/coverage.py $(B)/onnxcc $(B)/plain-coverage $(NETWORKS)
.PHONY: test-plain-coverage

# gcc -fanalyzer, clang -Weverything and cppcheck's MISRA addon have no message, but for what docs/plain.md lists.
TESTS += $(call in-turn,7,plain-analysers)
test-plain-analysers: setup all
	@$(PYTHON) tests/plain/analysers.py $(B)/onnxcc $(B)/plain-analysers docs/plain.md $(NETWORKS)
.PHONY: test-plain-analysers

# One of PLAIN_EVERY official tests and of the operators' cases, others for every commit, for plain: under sanitizers, and without a
# warning. Without those of the image formats that need libraries (README, Limits).
TESTS += plain-suite
PLAIN_EVERY ?= 36
PLAIN_TESTS = 'light_*' 'test_[!i]*' 'test_i[!m]*' 'test_image_decoder_decode_bmp*' 'test_image_decoder_decode_p*'
PLAIN_RUN = $(SUITE)/run --build $(SUITE)/plain --include $(B)/include --target plain --ways s --every $(PLAIN_EVERY) --turn $(OLD_TURN)
test-plain-suite: setup $(B)/suite/run $(B)/suite/call-sanitized $(B)/include/onnxcc
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(PYTHON) tests/operators/cases.py $(CACHE)/operators
	@mkdir -p $(SUITE)/plain && ln -sf ../call-sanitized $(SUITE)/plain/
	@{ $(PLAIN_RUN) --own official --known tests/known.txt $(CACHE)/suite $(or $(T:%='%'),$(PLAIN_TESTS)); \
		$(PLAIN_RUN) --own cases $(CACHE)/operators $(T:%='%'); } \
		| awk '/^(official|cases): [0-9]* passed/ { p += $$2; f += $$4; n++; next } { print } \
			END { print "plain-suite: " p + 0 " passed, " f + (n != 2) " failed"; exit f || n != 2 }'
.PHONY: test-plain-suite

# Frama-C's EVA (Debian's frama-c-base) on the networks, but for `image`: no alarm, whatever the inputs. Takes several minutes.
PROVED ?= layer_norm if loop forest mlp mlp_int8 lstm gru transformer bounded cnn cnn_int8 ds_cnn ds_cnn_int8 resnet8 resnet8_int8
test-proof: all
	@$(PYTHON) tests/plain/proof.py $(B)/onnxcc $(B)/proof $(or $(NETWORKS),$(PROVED))
.PHONY: test-proof
