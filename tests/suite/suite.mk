# The official ONNX tests. T='test_relu test_softmax*': only these; W: only these ways, of e (evaluated by the compiler), s (C under
# sanitizers), f (optimised C); EVERY=N: only every Nth as C. KNOWN=update rewrites known.txt. Of the networks one of NETWORKS_EVERY is
# run under sanitizers, and one of OPTIMISED_EVERY tests is optimised, others for every commit.
EVERY ?= 1
OPTIMISED_EVERY ?= 3
NETWORKS_EVERY ?= 6
TESTS += suite
SUITE = $(B)/suite
SHARED += $(SUITE)/run $(SUITE)/call $(SUITE)/call-sanitized

test-suite: setup $(SUITE)/run $(SUITE)/call $(SUITE)/call-sanitized $(B)/include/onnxcc
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(SUITE)/run --build $(SUITE) --include $(B)/include --known tests/known.txt $(if $(T),-v,--every $(EVERY) --networks $(NETWORKS_EVERY) \
		--optimised $(OPTIMISED_EVERY) --turn $(OLD_TURN)) \
		$(if $(W),--ways $(W)) $(if $(filter update,$(KNOWN)),--update) $(SUITE_FLAGS) $(CACHE)/suite $(foreach t,$(T),'$(t)')

# The same tests, evaluated by the compiler, with the declared sizes of the outputs hidden: every size must be inferred.
# Parts: ir/dim, ir/symbol, passes/infer, passes/bounds.
TESTS += symbolic
test-symbolic: setup $(SUITE)/run
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@mkdir -p $(SUITE)/symbolic
	@$(SUITE)/run --symbolic-outputs --build $(SUITE)/symbolic --include $(B)/include --known tests/known.txt --every 100000 --ways e \
		$(CACHE)/suite $(if $(T),'$(T)') >$(SUITE)/symbolic/log; status=$$?; sed 's/^suite:/symbolic:/' $(SUITE)/symbolic/log; exit $$status

# The tests of older onnx packages, for older versions of the operators; one of OLD_EVERY as C, others for every commit.
TESTS += old
OLD_EVERY ?= 90
OLD_TURN ?= $(shell git rev-list --count HEAD 2>/dev/null || echo 0)
test-old: setup $(SUITE)/run $(SUITE)/call $(SUITE)/call-sanitized $(B)/include/onnxcc
	@$(PYTHON) tests/suite/old.py $(CACHE)/old
	@mkdir -p $(SUITE)/old && ln -sf ../call ../call-sanitized $(SUITE)/old
	@$(SUITE)/run --own old --build $(SUITE)/old --include $(B)/include --known tests/known-old.txt \
		$(if $(T),-v,--every $(OLD_EVERY) --turn $(OLD_TURN)) $(if $(W),--ways $(W)) $(SUITE_FLAGS) $(CACHE)/old $(if $(T),'$(T)')

# The official tests under sanitizers with the vectors of x86-64-v3: one of V3_EVERY, others for every commit; V3_EVERY=1: all.
TESTS += vectors
V3_EVERY ?= 24
test-vectors: setup $(SUITE)/run $(SUITE)/call $(SUITE)/call-sanitized $(B)/include/onnxcc
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@mkdir -p $(SUITE)/v3 && ln -sf ../call ../call-sanitized $(SUITE)/v3
	@$(SUITE)/run --own vectors --march x86-64-v3 --ways es --build $(SUITE)/v3 --include $(B)/include \
		$(if $(T),-v,--every $(V3_EVERY) --turn $(OLD_TURN)) $(SUITE_FLAGS) $(CACHE)/suite $(if $(T),'$(T)')

SUITE_OBJECTS = $(patsubst %,$(SUITE)/%.o,run model data build elsewhere judge)
$(SUITE)/run: $(SUITE_OBJECTS) $(filter-out $(B)/main.o,$(OBJECTS)) $(HOST_KERNELS) $(PB)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
$(SUITE)/%.o: tests/suite/%.c tests/suite/suite.mk | $(SUITE)
	$(CC) $(CFLAGS) $(HOST_CFLAGS) -MMD -MP -c -o $@ $<
-include $(SUITE_OBJECTS:.o=.d)
# The decoders of image formats are in the calling program: the emitted code finds them there.
$(SUITE)/call: tests/suite/call.c tests/suite/call.h tests/suite/case.h $(CODECS) | $(SUITE)
	$(CC) $(CFLAGS) -rdynamic -o $@ $< $(CODECS) $(CODEC_LINK)
$(SUITE)/call-sanitized: tests/suite/call.c tests/suite/call.h tests/suite/case.h $(CODECS) | $(SUITE)
	clang-14 $(CFLAGS) -fsanitize=address,undefined -rdynamic -o $@ $< $(CODECS) $(CODEC_LINK)
$(SUITE):
	@mkdir -p $@
.PHONY: test-suite test-symbolic test-old test-vectors
