# References from the C and the report to the model: names of nodes, parameters and weights; where the C finds its weights file. The
# report of official models as text and as JSON by its schema; as a page in Chromium. The map (--map). The ticks of each step
# (--profile). The bytes of the code (onnxcc size, --object). The line of progress on a terminal.
# Parts: emit/report, emit/facts, emit/report_text, emit/report_json, emit/report_html, emit/ticks, emit/object, verify/profile, verify/size,
#   emit/emit_code, emit/weights, emit/map, emit/lines, ir/provenance, ir/dump, base/progress.
TESTS += $(call in-turn,1,reports)
test-reports: setup all
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@B=$(abspath $(B)) CACHE=$(CACHE) $(PYTHON) tests/reports/run.py
.PHONY: test-reports
