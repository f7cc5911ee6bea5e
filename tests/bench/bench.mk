# `make bench` compares the speed of real models' C with ONNX Runtime's, and with that of the same C by other compilers and levels.
# M='minilm resnet*': only these models; LEVELS='-O2 clang-14:-O2': these compilers and levels; LEVELS=: none. `make bench-compile`
# measures onnxcc itself on large models.
bench: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) CC="$(CC)" $(PYTHON) tests/bench/bench.py $(M)
bench-compile: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) $(PYTHON) tests/bench/compile.py
# Speed and memory beside other compilers from ONNX to C: emx-onnx-cgen, and with ONNX2C=/path/to/onnx2c, which no package has, that one.
bench-peers: setup all
	@[ -x $(CACHE)/peers/bin/emx-onnx-cgen ] || \
		{ python3 -m venv $(CACHE)/peers && $(CACHE)/peers/bin/pip install --quiet emx-onnx-cgen==1.4.0; }
	@ONNXCC_CACHE=$(CACHE) B=$(B) CC="$(CC)" $(PYTHON) tests/bench/peers.py $(CACHE)/peers/bin/emx-onnx-cgen 'ONNX2C=$(ONNX2C)' $(M)
.PHONY: bench bench-compile bench-peers
