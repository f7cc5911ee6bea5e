# From a line of C or of the report back to the model: names of nodes, parameters and weights; where the weights file is found.
# Parts: emit/report, emit/emit_code, emit/weights, ir/dump.
TESTS += reports
test-reports: setup all
	@B=$(abspath $(B)) $(PYTHON) tests/reports/run.py
.PHONY: test-reports
