# From a line of C or of the report back to the model: names of nodes, parameters and weights; where the weights file is found. The
# report as text and as JSON by its schema, for official models; as a page in Chromium. The map (--map). The ticks of each
# step (--profile). The code's bytes (onnxcc size, --object). The line of progress on a terminal.
# Parts: emit/report, emit/facts, emit/report_text, emit/report_json, emit/report_html, emit/ticks, emit/object, verify/profile, verify/size,
#   emit/emit_code, emit/weights, emit/map, emit/lines, ir/provenance, ir/dump, base/progress.
TESTS += reports
test-reports: setup all
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@B=$(abspath $(B)) CACHE=$(CACHE) $(PYTHON) tests/reports/run.py
.PHONY: test-reports
