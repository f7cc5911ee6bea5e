# The official tests' C through other C compilers and other flags: the bits of the compiler's own kernels. T=test_softmax*
# C=tcc: only these tests, only these compilers.
TESTS += compilers
COMPILERS = $(B)/compilers
test-compilers: setup $(B)/suite/run $(B)/suite/call $(B)/include/onnxcc
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@mkdir -p $(COMPILERS)
	@$(B)/suite/run --build $(COMPILERS) --include $(B)/include --known tests/known.txt --ways e $(CACHE)/suite >$(COMPILERS)/log || \
		{ cat $(COMPILERS)/log; exit 1; }
	@B=$(abspath $(B)) $(PYTHON) tests/compilers/run.py --tests '$(or $(T),test_*)' --compilers '$(or $(C),*)'
.PHONY: test-compilers

# The compiler itself, built by another C compiler with the other sign of char: the same bytes of C. (The kernels that fold are
# those of the first build: tests/numbers compares their bits.)
TESTS += bytes
test-bytes: setup all
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(MAKE) --no-print-directory --silent B=$(B)/bytes HOST=$(B)/host CC=clang-14 CFLAGS='-O0 -funsigned-char' $(B)/bytes/onnxcc
	@CACHE=$(CACHE) $(PYTHON) tests/compilers/bytes.py $(B)/onnxcc $(B)/bytes/onnxcc
.PHONY: test-bytes
