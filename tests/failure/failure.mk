# Failures while onnxcc runs: of every allocation and every write, a full disk, a signal, a small stack.
# Parts: base/output, base/error, base/fail, base/process, base/pool, base/util.
TESTS += failure
test-failure: setup $(B)/onnxcc $(B)/failure/shim.so
	@$(PYTHON) tests/failure/run.py $(B)/onnxcc $(B)/failure/shim.so

$(B)/failure/shim.so: tests/failure/shim.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -shared -fPIC -Wall -Wextra -o $@ $<
.PHONY: test-failure
