# Bits: scalar.def beside numpy; every compiler gives the same; loops vectorise; moved elements keep theirs; folding changes none.
# Parts: ir/scalar, passes/fold.
TESTS += numbers
NUMBERS = $(B)/numbers
NUMBERS_FLAGS = -iquote runtime-min -ffp-contract=off -Wall -Wextra
NUMBERS_DEPS = tests/numbers/numbers.mk $(RT_HEADERS) | $(NUMBERS)
BITS = $(addprefix $(NUMBERS)/bits-,plain fast other)
# $(call sum-of,GROUP,N): the sum of the counts of N parts in the log; it fails if a part is missing.
sum-of = awk '/^[a-z]+: [0-9]+ passed, [0-9]+ failed$$/ { p += $$2; f += $$4; n++ } \
	END { print "$1: " p + 0 " passed, " f + (n != $2) " failed"; exit f || n != $2 }' $(NUMBERS)/$1.log

test-numbers: setup all $(NUMBERS)/scalar.so $(BITS)
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(PYTHON) tests/fuzz/generate.py $(CACHE)/fuzz-$(SEED) $(N) $(SEED)
	@{ $(PYTHON) tests/numbers/scalar.py $(NUMBERS)/scalar.so; $(PYTHON) tests/numbers/vector.py gcc $(NUMBERS); \
		$(PYTHON) tests/numbers/moves.py $(abspath $(B)); \
		$(PYTHON) tests/numbers/folded.py $(abspath $(B)) $(OLD_TURN) $(CACHE)/suite $(CACHE)/fuzz-$(SEED); \
		tests/numbers/same $(BITS); } | tee $(NUMBERS)/numbers.log
	@$(call sum-of,numbers,5)

# Errors: element.h beside ml_dtypes, math.h beside libquadmath; that of every operator is within its bound, of every second one at a
# time. STEP=1 tests every float (hours). O='Softmax Exp': only the bounds of these operators.
TESTS += $(call in-turn,3,bounds)
BOUNDS = B=$(B) CC="$(CC)" $(PYTHON) tests/numbers/bounds.py
STEP = 1009
ifdef O
test-bounds: setup all
	@$(BOUNDS) $(foreach o,$(O),'$(o)')
else
test-bounds: setup all $(NUMBERS)/accuracy $(NUMBERS)/element.so
	@{ $(NUMBERS)/accuracy $(STEP); $(PYTHON) tests/numbers/element.py $(NUMBERS)/element.so; \
		$(BOUNDS) --turn=$(call turn-of,$(SETS)); } | tee $(NUMBERS)/bounds.log
	@$(call sum-of,bounds,3)
endif

$(NUMBERS)/accuracy: tests/numbers/accuracy.c $(NUMBERS_DEPS)
	$(CC) -std=gnu11 -O3 $(NUMBERS_FLAGS) -o $@ $< -lquadmath -lm
$(NUMBERS)/element.so: tests/numbers/element.c $(NUMBERS_DEPS)
	$(CC) -std=c99 -pedantic -Wconversion -O2 -fsanitize=undefined,float-cast-overflow -fsanitize-undefined-trap-on-error \
		$(NUMBERS_FLAGS) -shared -fPIC -o $@ $<
$(NUMBERS)/scalar.so: tests/numbers/scalar.c compiler/ir/scalar.c compiler/ir/kernel.h $(NUMBERS_DEPS)
	$(CC) $(HOST_CFLAGS) -fvisibility=default -O2 -fsanitize=undefined,float-cast-overflow -fsanitize-undefined-trap-on-error \
		$(NUMBERS_FLAGS) -shared -fPIC -o $@ $<
$(NUMBERS)/bits-plain: tests/numbers/bits.c $(NUMBERS_DEPS)
	gcc -std=c99 -O1 $(NUMBERS_FLAGS) -o $@ $<
$(NUMBERS)/bits-fast: tests/numbers/bits.c $(NUMBERS_DEPS)
	gcc -std=c99 -O3 -march=native -fno-math-errno $(NUMBERS_FLAGS) -o $@ $<
$(NUMBERS)/bits-other: tests/numbers/bits.c $(NUMBERS_DEPS)
	clang-14 -std=c99 -O2 $(NUMBERS_FLAGS) -o $@ $<
$(NUMBERS):
	@mkdir -p $@

# The largest error of every operator, onnxcc's beside ONNX Runtime's; O='Softmax Reduce*': only these.
accuracy: setup all
	@$(BOUNDS) --table $(foreach o,$(O),'$(o)')
.PHONY: test-numbers test-bounds accuracy
