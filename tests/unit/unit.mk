# Unit tests of the compiler's parts: memory, names, texts, messages, sizes as expressions. U='dim util': only these files.
TESTS += unit
UNIT = $(B)/unit

test-unit: $(patsubst tests/unit/%.c,$(UNIT)/%,$(wildcard $(patsubst %,tests/unit/%.c,$(or $(U),*))))
	@for t in $^; do CMOCKA_MESSAGE_OUTPUT=TAP $$t 2>&1 || echo "not ok - $$t"; done | awk \
		'/^ok/ { good++ } /^not ok/ { bad++ } !/^ok|^1\.\.|^# ok/ { print } \
		END { printf "unit: %d passed, %d failed\n", good, bad; exit bad > 0 || !good }'

$(UNIT)/%: tests/unit/%.c $(wildcard compiler/*.h compiler/*/*.h) $(filter-out $(B)/main.o,$(OBJECTS)) $(HOST_KERNELS) $(PB) | $(UNIT)
	$(CC) $(CFLAGS) $(LDFLAGS) $(HOST_CFLAGS) -o $@ $(filter-out %.h,$^) -lcmocka $(LIBS)
$(UNIT):
	@mkdir -p $@
.PHONY: test-unit
