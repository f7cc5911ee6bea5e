# Models made by exporters and converters, compared with ONNX Runtime: evaluated by the compiler, with fixed and bounded sizes, and as C,
# by tcc, and some by gcc and under clang's sanitizers. T='boosting_*': only these.
EXPORTED = $(B)/suite/run $(B)/suite/call $(B)/suite/call-sanitized $(B)/include/onnxcc
# $(1): folder of the tests; $(2): Python environment; $(3): scripts of this folder, one for each kind; $(4): one in so many by gcc and
# clang; $(5): options of suite/run.
define run-exported
	@tests/exporters/setup $(CACHE) $(2)
	@OMP_NUM_THREADS=1 PYTHONPATH=tests:tests/models $(CACHE)/$(2)-venv/bin/python tests/exporters/make.py $(CACHE)/$(1) $(3)
	@mkdir -p $(SUITE)/$(1) && ln -sf ../call ../call-sanitized $(SUITE)/$(1)
	@$(SUITE)/run --own $(1) $(5) --known tests/exporters/known.txt --build $(SUITE)/$(1) --include $(B)/include \
		$(if $(T),-v,--every $(4) --turn $(call turn-of,$(SETS))) $(CACHE)/$(1) $(if $(T),'$(T)')
endef

# Models of scikit-learn and boosted trees, and of ONNX Runtime's tools. One of CONVERTERS_EVERY by gcc and clang, others for every
# commit.
TESTS += $(call in-turn,0,converters)
CONVERTERS = scikit boosting tools
CONVERTERS_EVERY ?= 100
test-converters: setup $(EXPORTED)
	$(call run-exported,converters,exporters,$(CONVERTERS),$(CONVERTERS_EVERY),--ways esft)

# Layers and functions of PyTorch, networks of transformers, torchvision, timm and diffusers by both of PyTorch's exporters, and layers
# and networks of Keras; they need 6 GB of packages. One of EXPORTERS_EVERY as C.
EXPORTERS = modules language images timm_images keras_layers diffusion
EXPORTERS_EVERY ?= 10
test-exporters: setup $(EXPORTED)
	$(call run-exported,exporters,pytorch,$(EXPORTERS),$(EXPORTERS_EVERY),--incbin)

# A decoder of 135 million parameters, exported by PyTorch with its cache: the logits of every token and its time, beside ONNX Runtime's.
DECODER = $(B)/decoder/model.onnx
TOKENS ?= 512
test-decoder: setup all
	@tests/exporters/setup $(CACHE) pytorch
	@mkdir -p $(dir $(DECODER))
	@[ $(DECODER) -nt tests/exporters/decoder.py ] || $(CACHE)/pytorch-venv/bin/python tests/exporters/decoder.py $(DECODER)
	@PYTHONPATH=tests B=$(B) CC="$(CC)" $(CACHE)/pytorch-venv/bin/python tests/exporters/decoding.py $(DECODER) $(TOKENS)
.PHONY: test-converters test-exporters test-decoder
