# The C of tests through other C compilers and other flags: the bits of the compiler's own kernels. The official tests through tcc;
# tests that call every kernel (tests/machines/choose.py) through gcc and clang at every level, each level with one of LEVELS_EVERY
# of them, with every commit others; LEVELS_EVERY=1: with all. T=test_softmax*, C='gcc-O*': only these tests, only these compilers.
TESTS += compilers
COMPILERS = $(B)/compilers
LEVELS_EVERY ?= 12
test-compilers: setup $(B)/suite/run $(B)/suite/call $(B)/include/onnxcc
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(B)/onnxcc --list-ops=json >$(B)/table.json
	@$(PYTHON) tests/operators/cells.py $(CACHE)/cells $(B)/table.json
	@$(PYTHON) tests/operators/cases.py $(CACHE)/operators
	@B=$(B) $(PYTHON) tests/machines/choose.py $(B)/machines/chosen $(CACHE)/suite $(CACHE)/cells $(CACHE)/operators
	@mkdir -p $(COMPILERS)/cover
	@$(B)/suite/run --build $(COMPILERS) --include $(B)/include --known tests/known.txt --ways e $(CACHE)/suite >$(COMPILERS)/log || \
		{ cat $(COMPILERS)/log; exit 1; }
	@$(B)/suite/run --own cover --build $(COMPILERS)/cover --include $(B)/include --ways e $(B)/machines/chosen/tests \
		>$(COMPILERS)/log || { cat $(COMPILERS)/log; exit 1; }
	@B=$(abspath $(B)) $(PYTHON) tests/compilers/run.py --tests '$(or $(T),*)' --compilers '$(or $(C),*)' \
		--every $(LEVELS_EVERY) --turn $(OLD_TURN)
.PHONY: test-compilers

# The compiler itself, built by another C compiler with the other sign of char: the same bytes of C. (The kernels that fold are
# those of the first build: tests/numbers compares their bits.)
TESTS += bytes
test-bytes: setup all
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(MAKE) --no-print-directory --silent B=$(B)/bytes HOST=$(B)/host CC=clang-14 CFLAGS='-O0 -funsigned-char' $(B)/bytes/onnxcc
	@CACHE=$(CACHE) $(PYTHON) tests/compilers/bytes.py $(B)/onnxcc $(B)/bytes/onnxcc
.PHONY: test-bytes
