# Files made to break the compiler. `make fuzz SECONDS=n`: libFuzzer with a mutator of ONNX's messages (mutate.c), from the official
# models as seeds, under the address and undefined-behaviour sanitizers: for n seconds the parser alone, then for n seconds the compiler
# up to the text of the C. FUZZ=parse or FUZZ=whole: only this. Findings go to build/attack/found; once fixed, each becomes a file in
# tests/attack/found, or a shape in large.py.
# Parts: read, base/util, base/process.
TESTS += attack
ATTACK = $(B)/attack
SECONDS ?= 60
FUZZ ?= parse whole

# Former findings, and one of LARGE_EVERY large and deep models, are refused or compiled within 10 s and 1 GB; compiling one of
# ATTACK_EVERY of the operators' cases has no undefined behaviour; nor have one of EXTREMES_EVERY attributes and constants at
# extremes; others for every commit.
# Both fuzzers, without sanitizers, take FUZZ_FILES mutated files.
FUZZ_FILES ?= 1000
ATTACK_EVERY ?= 36
EXTREMES_EVERY ?= 96
LARGE_EVERY ?= $(if $(filter all,$(GROUPS)),1,2)
test-attack: setup sanitized $(ATTACK)/plain-parse $(ATTACK)/plain-whole
	@$(PYTHON) tests/operators/cases.py $(CACHE)/operators
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(PYTHON) tests/attack/run.py $(B)/onnxcc $(B)/sanitized/onnxcc $(CACHE)/operators $(CACHE)/suite $(FUZZ_FILES) \
		$(ATTACK_EVERY) $(OLD_TURN) $(EXTREMES_EVERY) $(LARGE_EVERY) $(ATTACK)/plain-parse $(ATTACK)/plain-whole

fuzz: setup
	@$(MAKE) --no-print-directory -j$$(nproc) $(FUZZ:%=$(ATTACK)/%)
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(PYTHON) tests/attack/fuzz.py $(ATTACK) $(CACHE) $(SECONDS) $(FUZZ)

# The compiler and its kernels, built by clang in a separate folder.
FUZZ_CC ?= clang-14
FUZZ_FLAGS = -O1 -g1 $(SANITIZERS) -fsanitize-coverage=inline-8bit-counters,pc-table
$(ATTACK)/compiler/onnxcc: FORCE
	@$(MAKE) --no-print-directory --silent B=$(@D) HOST=$(@D)/host CC='$(FUZZ_CC)' CFLAGS='$(FUZZ_FLAGS)' \
		KERNEL_CFLAGS='$(KERNEL_CFLAGS) $(FUZZ_FLAGS)' $@
FORCE:

# The harness is not under test, so it has no sanitizers.
HARNESS = $(addprefix $(ATTACK)/,mutate.o tree.o repair.o look.o)
$(HARNESS): $(ATTACK)/%.o: tests/attack/%.c tests/attack/mutate.h tests/attack/tree.h | $(B)/onnxcc
	@mkdir -p $(@D)
	$(FUZZ_CC) -O2 $(HOST_CFLAGS) -c -o $@ $<
FUZZ_OBJECTS = $(filter-out %/main.o,$(OBJECTS:$(B)/%=$(ATTACK)/compiler/%)) \
	$(KERNELS:%.h=$(ATTACK)/compiler/host/%.o) $(CODECS:$(B)/%=$(ATTACK)/compiler/%) $(ATTACK)/compiler/onnx.pb.o
$(ATTACK)/target-%.o: tests/attack/target.c tests/attack/mutate.h $(B)/onnxcc
	@mkdir -p $(@D)
	$(FUZZ_CC) -O2 -fsanitize-coverage=inline-8bit-counters,pc-table $(HOST_CFLAGS) -DTARGET_$* -c -o $@ $<
$(ATTACK)/parse $(ATTACK)/whole: $(ATTACK)/%: $(ATTACK)/target-%.o $(HARNESS) $(ATTACK)/compiler/onnxcc
	$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(FUZZ_OBJECTS) $(LIBS)
$(ATTACK)/plain-parse $(ATTACK)/plain-whole: $(ATTACK)/plain-%: $(ATTACK)/target-%.o $(HARNESS) $(B)/onnxcc
	$(FUZZ_CC) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(filter-out $(B)/main.o,$(OBJECTS)) $(HOST_KERNELS) $(PB) $(LIBS)
.PHONY: test-attack fuzz FORCE
