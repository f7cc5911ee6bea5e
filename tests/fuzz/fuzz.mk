# Small random models against ONNX Runtime: N of them from SEED, in the compiler; every FUZZ_EVERY-th as C, too.
# `make fuzz-ops N=10000 SEED=7`
TESTS += fuzz-ops
N ?= 2000
SEED ?= 1
FUZZ_EVERY ?= 100
test-fuzz-ops fuzz-ops: setup $(B)/suite/run $(B)/suite/call $(B)/suite/call-sanitized $(B)/include/onnxcc
	@$(PYTHON) tests/fuzz/generate.py $(CACHE)/fuzz-$(SEED) $(N) $(SEED)
	@mkdir -p $(SUITE)/fuzz && ln -sf ../call ../call-sanitized $(SUITE)/fuzz
	@$(SUITE)/run --own fuzz-ops --build $(SUITE)/fuzz --include $(B)/include $(if $(T),-v,--every $(FUZZ_EVERY)) \
		$(if $(W),--ways $(W)) $(SUITE_FLAGS) $(CACHE)/fuzz-$(SEED) $(if $(T),'$(T)')
.PHONY: test-fuzz-ops fuzz-ops

# The same models called with sizes that do not fit.
TESTS += sizes
test-sizes: setup $(B)/onnxcc
	@$(PYTHON) tests/fuzz/generate.py $(CACHE)/fuzz-$(SEED) $(N) $(SEED)
	@$(PYTHON) tests/fuzz/sizes.py $(CACHE)/fuzz-$(SEED) $(B)
.PHONY: test-sizes

# Sizes that do not fit, in the compiler, against ONNX Runtime: dimensions fixed, open or bounded, inputs given or constant.
# T='*_Conv': only models of such names, all of them.
TESTS += misfits
test-misfits: setup $(B)/onnxcc
	@$(PYTHON) tests/fuzz/generate.py $(CACHE)/fuzz-$(SEED) $(N) $(SEED)
	@$(PYTHON) tests/fuzz/misfits.py $(CACHE)/fuzz-$(SEED) $(B) $(foreach t,$(T),'$(t)')
.PHONY: test-misfits

# Which version of which operator how many tests use, and the versions without a test; of what `make test` left in the cache.
coverage: setup
	@$(PYTHON) tests/fuzz/coverage.py $(CACHE)/suite $(CACHE)/old $(CACHE)/operators $(CACHE)/cells $(CACHE)/fuzz-$(SEED)
.PHONY: coverage
