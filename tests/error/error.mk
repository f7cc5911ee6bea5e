# Models and command lines that are refused, with their exact messages; no file may remain. onnxcc is built with the address and
# undefined-behaviour sanitizers. CASE='GRA-* wire/*': only these cases, or those of a file; UPDATE=1 rewrites the messages, which must
# be read before they are committed.
TESTS += error
test-error: setup sanitized
	@ONNXCC=$(abspath $(B))/sanitized/onnxcc ASAN_OPTIONS=detect_leaks=0 $(PYTHON) tests/error/run.py \
		$(if $(UPDATE),--update) $(foreach c,$(CASE),'$(c)')
.PHONY: test-error
