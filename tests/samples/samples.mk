# The samples that run on the host: types of known files, also in a browser, speech between known silences, a decoder, digits
# learnt. (samples/bare-metal: test-qemu.)
TESTS += samples
test-samples: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) $(PYTHON) tests/samples/run.py
.PHONY: test-samples
