# The C of tests (--single) gives the bits of the compiler's own kernels, whichever C compiler and flags are used. By tcc, each test in a
# translation unit of its own: one of TCC_EVERY official tests, of the networks one of LEVELS_EVERY, and tests that together call every
# kernel (tests/machines/choose.py). The latter also by gcc and clang at every level, one of LEVELS_EVERY at each. The choice changes with every
# commit; LEVELS_EVERY=1 TCC_EVERY=1: all. T=test_softmax*: only these tests; C='gcc-O*': only these compilers.
TESTS += compilers
LEVELS_EVERY ?= 240
TCC_EVERY ?= 9
test-compilers: setup $(B)/table.json $(B)/suite/run $(B)/suite/call $(B)/include/onnxcc
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(PYTHON) tests/operators/cells.py $(CACHE)/cells $(B)/table.json
	@$(PYTHON) tests/operators/cases.py $(CACHE)/operators
	@B=$(B) $(PYTHON) tests/machines/choose.py $(B)/machines/chosen $(CACHE)/suite $(CACHE)/cells $(CACHE)/operators
	@B=$(abspath $(B)) $(PYTHON) tests/compilers/run.py --tests '$(or $(T),*)' --compilers '$(or $(C),*)' \
		--every $(LEVELS_EVERY) --official $(if $(T),1,$(TCC_EVERY)) --turn $(OLD_TURN) $(CACHE)/suite $(B)/machines/chosen/tests
.PHONY: test-compilers

# The compiler and its kernels, built by clang -O0 with the other sign of char, or for aarch64 by gcc -O1 (in QEMU),
# the one or the other in turn (BYTES_BY='clang aarch64': both), write the same bytes of C, with the inputs open and with
# constants for them: of one of CLANG_EVERY and of AARCH64_EVERY models, others each time. In the kernels for aarch64, gcc would
# fuse multiply-adds if that were not forbidden, which it does not consider at -O1 alone.
# Parts: base/place_search, passes/fold.
TESTS += $(call in-turn,7,bytes)
BYTES_BY ?= $(if $(filter all,$(GROUPS)),clang aarch64,$(word $(shell expr $(call turn-of,$(SETS)) % 2 + 1),clang aarch64))
CLANG_EVERY ?= 9
AARCH64_EVERY ?= 36
FUSING = -O1 -fexpensive-optimizations
AARCH64 = $(B)/bytes/aarch64
ARM64 = $(CACHE)/arm64/usr
MAKE_OTHER = $(MAKE) --no-print-directory --silent -j$$(nproc)
MAKE_clang = $(MAKE_OTHER) B=$(B)/bytes HOST=$(B)/bytes/host CC=clang-14 CFLAGS='-O0 -funsigned-char' KERNEL_LEVEL=-O0 $(B)/bytes/onnxcc
MAKE_aarch64 = tests/compilers/arm64 $(CACHE) && $(MAKE_OTHER) B=$(AARCH64) HOST=$(AARCH64)/host CODECS= CODEC_LINK= ZIP_CFLAGS= ZIP_LINK= \
	CC=aarch64-linux-gnu-gcc CFLAGS='-O1 -isystem $(ARM64)/include' LDFLAGS='-static -L$(ARM64)/lib/aarch64-linux-gnu' \
	KERNEL_LEVEL='$(FUSING)' $(AARCH64)/onnxcc
WRITE_clang = $(B)/bytes/onnxcc $(CLANG_EVERY)
WRITE_aarch64 = 'qemu-aarch64 $(AARCH64)/onnxcc' $(AARCH64_EVERY)
test-bytes: setup all
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(foreach by,$(BYTES_BY),$(MAKE_$(by)) &&) true
	@CACHE=$(CACHE) $(PYTHON) tests/compilers/bytes.py $(B)/onnxcc $(foreach by,$(BYTES_BY),$(WRITE_$(by))) --turn $(shell expr $(OLD_TURN) / $(SETS) / 2)
.PHONY: test-bytes
