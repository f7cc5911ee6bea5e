# `make bench` compares the speed of real models with ONNX Runtime's; M='minilm resnet*': only these;
# LEVELS='-O2 clang-14:-O2': by other C compilers and levels than -O3, too. `make bench-compile`
# measures onnxcc itself on large models.
bench: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) CC="$(CC)" $(PYTHON) tests/bench/bench.py $(M)
bench-compile: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) $(PYTHON) tests/bench/compile.py
.PHONY: bench bench-compile
