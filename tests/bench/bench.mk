# `make bench` compares the speed of real models with ONNX Runtime's; M='minilm resnet*': only these. `make bench-compile`
# measures onnxcc itself on large models.
bench: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) CC="$(CC)" $(PYTHON) tests/bench/bench.py $(M)
bench-compile: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) $(PYTHON) tests/bench/compile.py
.PHONY: bench bench-compile
