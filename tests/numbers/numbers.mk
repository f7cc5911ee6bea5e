# Exactness: element.h beside ml_dtypes, math.h beside libquadmath, scalar.def beside numpy; the error of every operator is within its
# bound, of every second one at a time; every compiler gives the same bits; loops vectorise; moved elements keep their bits; folding
# changes no bits.
# STEP=1 tests every float (hours). O='Softmax Exp': only the bounds of these operators.
# Parts: ir/scalar, passes/fold.
TESTS += numbers
NUMBERS = $(B)/numbers
NUMBERS_FLAGS = -iquote runtime-min -ffp-contract=off -Wall -Wextra
NUMBERS_DEPS = tests/numbers/numbers.mk $(RT_HEADERS) | $(NUMBERS)
STEP = 1009

ifdef O
test-numbers: setup all
	@$(BOUNDS) $(foreach o,$(O),'$(o)') >$(B)/bounds.log; status=$$?; sed 's/^bounds:/numbers:/' $(B)/bounds.log; exit $$status
else
test-numbers: setup all $(addprefix $(NUMBERS)/,accuracy element.so scalar.so) $(addprefix $(NUMBERS)/bits-,plain fast other)
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(PYTHON) tests/fuzz/generate.py $(CACHE)/fuzz-$(SEED) $(N) $(SEED)
	@{ $(NUMBERS)/accuracy $(STEP); $(PYTHON) tests/numbers/element.py $(NUMBERS)/element.so; \
		$(PYTHON) tests/numbers/scalar.py $(NUMBERS)/scalar.so; $(PYTHON) tests/numbers/vector.py gcc $(NUMBERS); \
		$(PYTHON) tests/numbers/moves.py $(abspath $(B)); \
		$(PYTHON) tests/numbers/folded.py $(abspath $(B)) $(OLD_TURN) $(CACHE)/suite $(CACHE)/fuzz-$(SEED); \
		$(BOUNDS) --turn=$(OLD_TURN); \
		tests/numbers/same $(addprefix $(NUMBERS)/bits-,plain fast other); } | tee $(NUMBERS)/log
	@awk '/^[a-z]+: [0-9]+ passed, [0-9]+ failed$$/ { p += $$2; f += $$4; n++ } \
		END { print "numbers: " p + 0 " passed, " f + (n != 8) " failed"; exit f || n != 8 }' $(NUMBERS)/log
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
BOUNDS = B=$(B) CC="$(CC)" $(PYTHON) tests/numbers/bounds.py
accuracy: setup all
	@$(BOUNDS) --table $(foreach o,$(O),'$(o)')
.PHONY: test-numbers accuracy
