# Small random models, compared with ONNX Runtime: N of them from SEED, evaluated by the compiler; every FUZZ_EVERY-th also as C.
# `make fuzz-ops N=10000 SEED=7`
# Parts: passes/simplify, passes/fold, passes/bind, passes/fuse, ir/loop, ir/strided, ir/spatial, ir/exec, ir/call.
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

# The C of the same models, called with possible and impossible sizes.
# Parts: ir/assume, ir/symbol, emit/emit_sizes.
TESTS += $(call in-turn,6,sizes)
test-sizes: setup $(B)/onnxcc
	@$(PYTHON) tests/fuzz/generate.py $(CACHE)/fuzz-$(SEED) $(N) $(SEED)
	@$(PYTHON) tests/fuzz/sizes.py $(CACHE)/fuzz-$(SEED) $(B)
.PHONY: test-sizes

# Sizes that do not fit, evaluated by the compiler and compared with ONNX Runtime: dimensions are fixed, open or bounded, inputs given
# or constant.
# T='*_Conv': only models of such names, all of them.
# Parts: ir/assume, ir/require, passes/infer, passes/infer_node, ir/node.
TESTS += misfits
test-misfits: setup $(B)/onnxcc
	@$(PYTHON) tests/fuzz/generate.py $(CACHE)/fuzz-$(SEED) $(N) $(SEED)
	@$(PYTHON) tests/fuzz/misfits.py $(CACHE)/fuzz-$(SEED) $(B) $(foreach t,$(T),'$(t)')
.PHONY: test-misfits

# Sizes, axes, counts and indices that are inputs, with values that an operator must refuse, compared with ONNX Runtime.
# T='TopK Pad*': only these rows.
# Parts: ir/require, ir/symbol.
TESTS += values
test-values: setup $(B)/onnxcc
	@$(PYTHON) tests/fuzz/values.py $(B) $(foreach t,$(T),'$(t)')
.PHONY: test-values

# Random programs: open and empty sizes, sizes that become known in branches and loops, sequences, optionals; targets and options are
# random, too. PROGRAMS of them from SEED, as C under clang's sanitizers. `make programs PROGRAMS=50000 SEED=7` evaluates them in the
# compiler, with PROGRAMS_CC=tcc runs them as C by tcc; KEEP=FOLDER keeps those that fail.
# Parts: passes/infer, passes/container, passes/container_boundary, ops/container, ops/alternatives, ir/scope,
# emit/emit_sizes, memory/share.
TESTS += programs
PROGRAMS ?= 300
PROGRAMS_SANITIZED = clang-14 -O0 -w -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all
RUN_PROGRAMS = $(PYTHON) tests/fuzz/programs_run.py $(B) $(PROGRAMS) $(SEED) $(if $(KEEP),--keep $(KEEP))
test-programs: setup $(B)/onnxcc $(B)/include/onnxcc
	@$(RUN_PROGRAMS) --cc '$(PROGRAMS_SANITIZED)'
programs: setup $(B)/onnxcc $(B)/include/onnxcc
	@$(RUN_PROGRAMS) -v --cc '$(PROGRAMS_CC)'
.PHONY: test-programs programs

# RUNS models, good and bad ones in any order, compiled by one process in one thread and then in two at once, have the command's
# results; RUNS_SANITIZED of them under the address and the thread sanitizer. The compiler's only writable variable is a thread's pointer
# to its session (base/session.h); sections onnxcc_* hold constants with addresses. Then the library: library.py.
# Parts: base/session, base/util, base/error, base/output, base/process, library, compile.
TESTS += $(call in-turn,2,runs)
RUNS ?= 1000
RUNS_SANITIZED ?= 150
RUNS_MODELS = $(CACHE)/programs/*.onnx $(CACHE)/suite/node/test_[gils]*/model.onnx
WRITABLE = objdump -t $(OBJECTS) $(HOST_KERNELS) $(PB) | awk -F'\t' 'NF > 1 { n = split($$1, left, " "); m = split($$2, right, " "); \
	if (left[n] !~ /^(\.text|\.rodata|\.data\.rel\.ro|\.debug|\.eh_frame|\.note|\.comment|\*ABS\*|\*UND\*|onnxcc_)/ && right[m] != left[n]) \
	print right[m] }' | grep -vxF session_distance
test-runs: setup all $(B)/fuzz/runs sanitized
	@$(PYTHON) tests/fuzz/programs_run.py $(B) 100 1 --write $(CACHE)/programs
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@! $(WRITABLE) | sed 's/.*/FAIL the variable & can be written by two runs/' | grep .
	@$(MAKE) --no-print-directory --silent -j$$(nproc) B=$(B)/sanitized HOST=$(B)/host CFLAGS='-O1 -g $(SANITIZERS)' $(B)/sanitized/fuzz/runs
	@$(MAKE) --no-print-directory --silent -j$$(nproc) B=$(B)/threads HOST=$(B)/host CC=clang-14 CFLAGS='-O1 -g -fsanitize=thread' $(B)/threads/fuzz/runs
	@rm -rf $(B)/fuzz/files && mkdir -p $(B)/fuzz/files
	@{ $(B)/fuzz/runs $(B)/onnxcc $(B)/fuzz/files $(SEED) $(RUNS) $(RUNS_MODELS); \
		for w in sanitized threads; do $(B)/$$w/fuzz/runs $(B)/onnxcc $(B)/fuzz/files $(SEED) $(RUNS_SANITIZED) $(RUNS_MODELS); done; \
		$(PYTHON) tests/fuzz/library.py $(B) '$(CC)' $(LIBS); } \
		| awk '/^(runs|library): / { p += $$2; f += $$4; n++; next } { print } END { print "runs: " p + 0 " passed, " f + (n != 4) " failed"; exit f || n != 4 }'
$(B)/fuzz/runs: tests/fuzz/runs.c compiler/onnxcc.h $(filter-out $(B)/main.o,$(OBJECTS)) $(HOST_KERNELS) $(PB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) $(HOST_CFLAGS) -o $@ $(filter-out %.h,$^) $(LIBS)
.PHONY: test-runs

# Prints the number of tests for every version of every operator, and the versions without a test; reads the cache of `make test`.
coverage: setup
	@$(PYTHON) tests/fuzz/coverage.py $(CACHE)/suite $(CACHE)/old $(CACHE)/operators $(CACHE)/cells $(CACHE)/fuzz-$(SEED)
.PHONY: coverage
