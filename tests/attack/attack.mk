# Files made to break the compiler. `make fuzz SECONDS=n`: libFuzzer with a mutator of ONNX's messages (mutate.c), from the official
# models as seeds, under the address and undefined-behaviour sanitizers: for n seconds the parser alone, then for n seconds the compiler
# up to the text of the C. FUZZ=parse or FUZZ=whole: only this. Findings go to build/attack/found; once fixed, each becomes a file in
# tests/attack/found, or a shape in large.py.
# Parts: read, base/util, base/process.
TESTS += attack
ATTACK = $(B)/attack
SECONDS ?= 60
FUZZ ?= parse whole

# Former findings, and large and deep models, are refused or compiled within 10 s and 1 GB; compiling the operators' cases has no
# undefined behaviour.
test-attack: setup sanitized $(B)/onnxcc
	@$(PYTHON) tests/operators/cases.py $(CACHE)/operators
	@$(PYTHON) tests/attack/run.py $(B)/onnxcc $(B)/sanitized/onnxcc $(CACHE)/operators

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
HARNESS = $(addprefix $(ATTACK)/,mutate.o tree.o repair.o output.o look.o)
$(HARNESS): $(ATTACK)/%.o: tests/attack/%.c tests/attack/mutate.h tests/attack/tree.h | $(ATTACK)/compiler/onnxcc
	$(FUZZ_CC) -O2 $(filter-out -I$(B),$(HOST_CFLAGS)) -I$(ATTACK)/compiler -c -o $@ $<
FUZZ_OBJECTS = $(filter-out %/base/output.o %/main.o,$(OBJECTS:$(B)/%=$(ATTACK)/compiler/%)) \
	$(KERNELS:%.h=$(ATTACK)/compiler/host/%.o) $(CODECS:$(B)/%=$(ATTACK)/compiler/%) $(ATTACK)/compiler/onnx.pb.o
$(ATTACK)/target-%.o: tests/attack/target.c tests/attack/mutate.h $(ATTACK)/compiler/onnxcc
	$(FUZZ_CC) -O2 $(filter-out -I$(B),$(HOST_CFLAGS)) -I$(ATTACK)/compiler -DTARGET_$* -c -o $@ $<
$(ATTACK)/parse $(ATTACK)/whole: $(ATTACK)/%: $(ATTACK)/target-%.o $(HARNESS) $(ATTACK)/compiler/onnxcc
	$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(FUZZ_OBJECTS) $(LIBS)
.PHONY: test-attack fuzz FORCE
