# The samples for a PC: types of known files, also in a browser; speech between known silences; text by a decoder; a network that learns
# digits. (samples/bare-metal: test-qemu.)
TESTS += samples
test-samples: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) $(PYTHON) tests/samples/run.py
.PHONY: test-samples
