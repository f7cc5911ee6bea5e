# The format's specification, row by row: each requirement is tested by models made for it. O='FUN-* SHP-10': only these rows.
TESTS += spec
test-spec: setup all
	@B=$(abspath $(B)) $(PYTHON) tests/spec/rows.py $(foreach o,$(O),'$(o)')
.PHONY: test-spec
