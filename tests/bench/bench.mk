# `make bench` compares the speed of real models' C with ONNX Runtime's, and with that of the same C by other compilers and levels.
# M='minilm resnet*': only these models; LEVELS='-O2 clang-14:-O2': these compilers and levels; LEVELS=: none. `make bench-compile`
# measures onnxcc itself on large models.
bench: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) CC="$(CC)" $(PYTHON) tests/bench/bench.py $(M)
bench-compile: setup all
	@ONNXCC_CACHE=$(CACHE) B=$(B) $(PYTHON) tests/bench/compile.py
# Speed and memory beside other compilers from ONNX to C and TensorFlow Lite Micro: emx-onnx-cgen and tflite-micro of PyPI, and with
# ONNX2C=/path/to/onnx2c, which no package has, that one.
PEERS_VENV = $(CACHE)/peers
PEERS = emx-onnx-cgen==1.4.0 tflite-micro==0.dev20261023182759 tflite==2.18.0 onnxruntime==1.31.1
bench-peers: setup all
	@[ "$$(cat $(PEERS_VENV)/packages 2>/dev/null)" = '$(PEERS)' ] || \
		{ python3 -m venv $(PEERS_VENV) && $(PEERS_VENV)/bin/pip install --quiet $(PEERS) && echo '$(PEERS)' > $(PEERS_VENV)/packages; }
	@ONNXCC_CACHE=$(CACHE) B=$(B) CC="$(CC)" $(PYTHON) tests/bench/peers.py $(PEERS_VENV)/bin/python 'ONNX2C=$(ONNX2C)' $(M)
.PHONY: bench bench-compile bench-peers
