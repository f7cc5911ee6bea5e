# The README's promises about emitted code: no warning, no heap, symbols, the same bytes, weights in any folder; of a third of the models;
# for each one of EMITTED_EVERY other processors, for each translation unit of several models one of EMITTED_EVERY C compilers; others
# for every commit. GROUPS=all: all of them.
# Parts: base/target, emit, memory.
TESTS += emitted
EMITTED_EVERY ?= $(if $(filter all,$(GROUPS)),1,6)
test-emitted: setup all
	@B=$(abspath $(B)) $(PYTHON) tests/emitted/run.py $(EMITTED_EVERY) $(OLD_TURN) $(M)
.PHONY: test-emitted

# The size of the code and the stack at every level of the C compiler, of a third of the models, and of one of SIZES_EVERY official tests of
# operators; others for every commit. GROUPS=all: all models.
TESTS += levels
SIZES_EVERY ?= 331
test-levels: setup all
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@B=$(abspath $(B)) $(PYTHON) tests/emitted/levels.py $(CACHE)/suite --every $(SIZES_EVERY) --turn $(OLD_TURN) \
		$(if $(filter all,$(GROUPS)),--all) $(M)
.PHONY: test-levels

# No line of code has more than 120 columns: the C of one of LINES_EVERY official tests, others for every commit.
# Parts: ir/dim_parts, ir/dim_print, base/wrap.
TESTS += lines
LINES_EVERY ?= 48
test-lines: setup all
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(PYTHON) tests/operators/cases.py $(CACHE)/operators
	@B=$(abspath $(B)) $(PYTHON) tests/emitted/lines.py $(LINES_EVERY) $(OLD_TURN) $(CACHE)/suite $(CACHE)/operators
.PHONY: test-lines

# The C of one of SMALLEST_EVERY official tests and of the operators' cases, others for every commit, with sizes of 0 and 1, has no
# warning. Parts: ops, emit, plain/sweep, plain/cut.
TESTS += smallest
SMALLEST_EVERY ?= 180
test-smallest: setup all $(B)/include/onnxcc
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(PYTHON) tests/operators/cases.py $(CACHE)/operators
	@$(PYTHON) tests/emitted/smallest.py $(B)/onnxcc $(B)/include $(B)/smallest $(SMALLEST_EVERY) $(OLD_TURN) $(CACHE)/suite $(CACHE)/operators
.PHONY: test-smallest
