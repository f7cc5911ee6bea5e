# Models that real exporters make, against ONNX Runtime: in the compiler with bounded sizes, and as C one of EXPORTERS_EVERY.
# T='boosting_*': only these. EXPORTERS: scripts of this folder, one for each kind.
EXPORTERS = scikit boosting
EXPORTERS_EVERY ?= 100
test-exporters: setup $(B)/suite/run $(B)/suite/call $(B)/suite/call-sanitized $(B)/include/onnxcc
	@tests/exporters/setup $(CACHE)
	@OMP_NUM_THREADS=1 PYTHONPATH=tests $(CACHE)/exporters-venv/bin/python tests/exporters/make.py $(CACHE)/exporters $(EXPORTERS)
	@mkdir -p $(SUITE)/exporters && ln -sf ../call ../call-sanitized $(SUITE)/exporters
	@$(SUITE)/run --own exporters --known tests/exporters/known.txt --build $(SUITE)/exporters --include $(B)/include \
		$(if $(T),-v,--every $(EXPORTERS_EVERY)) $(CACHE)/exporters $(if $(T),'$(T)')
.PHONY: test-exporters
