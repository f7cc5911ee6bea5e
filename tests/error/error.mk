# Models and command lines that are refused, with their exact messages; nothing may be left behind. CASE='GRA-*': only
# these; UPDATE=1 writes the messages anew, to be read before they are committed.
TESTS += error
test-error: setup all
	@B=$(abspath $(B)) $(PYTHON) tests/error/run.py $(if $(UPDATE),--update) $(CASE)
.PHONY: test-error
