# The emitted C on other machines (table.py), with many tests in one program.

# The whole official suite, with kernels inlined as in users' builds: an hour or more. MACHINES='s390x': only this machine;
# T='test_softmax*': only these tests.
MACHINES ?= aarch64 riscv64 s390x armhf
test-machines: setup $(B)/suite/run $(B)/include/onnxcc
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@B=$(B) $(PYTHON) tests/machines/official.py machines $(CACHE)/suite '$(MACHINES)' $(foreach t,$(T),'$(t)')
.PHONY: test-machines

# All tests on every machine: many hours. P='i386': only on this machine.
test-everywhere: setup $(B)/suite/run $(B)/include/onnxcc
	@$(MAKE) --no-print-directory test-processors test-products P='$(P)'
	@B=$(B) $(PYTHON) tests/machines/official.py everywhere '$(CACHE)/suite $(CACHE)/cells $(CACHE)/operators $(B)/products' '$(P)' \
		$(foreach t,$(T),'$(t)')
.PHONY: test-everywhere

# Small networks in floats and in integers on an AVR, in simavr, at one level of gcc, another for every commit; GROUPS=all: at all.
# Parts: passes/load.
TESTS += avr
test-avr: setup all
	@B=$(B) $(PYTHON) tests/machines/avr.py $(if $(filter all,$(GROUPS)),,$(OLD_TURN))
.PHONY: test-avr

# Every kernel in every type, and small networks, on every machine of table.py, of those in IN_TURN on one, another for every commit.
# P='aarch64 riscv64': only on these. Of the machines with a --target of their own, one runs the networks' code for generic, too,
# another for every commit; with P each.
TESTS += processors
test-processors: setup all $(B)/table.json $(B)/suite/run
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@$(PYTHON) tests/operators/cells.py $(CACHE)/cells $(B)/table.json
	@$(PYTHON) tests/operators/cases.py $(CACHE)/operators
	@B=$(B) $(PYTHON) tests/machines/choose.py $(B)/machines/chosen $(CACHE)/suite $(CACHE)/cells $(CACHE)/operators
	@ONNXCC_CACHE=$(CACHE) $(PYTHON) tests/machines/networks.py $(B)/machines/networks
	@B=$(B) $(PYTHON) tests/machines/run.py $(OLD_TURN) $(B)/machines/chosen $(B)/machines/networks $(P)
.PHONY: test-processors
