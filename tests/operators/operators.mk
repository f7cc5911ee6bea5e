# Operators beyond the official tests: onnxcc's own cases, compared with ONNX Runtime or, if that lacks an operator, with ONNX's
# reference. O='own_dft* own_svm*': only these, in detail; every OWN_EVERY-th also as C; W as for the official tests.
TESTS += operators
OWN_EVERY ?= 48
test-operators: setup $(B)/suite/run $(B)/suite/call $(B)/suite/call-sanitized $(B)/include/onnxcc
	@$(PYTHON) tests/operators/cases.py $(CACHE)/operators
	@$(SUITE)/run --own operators --build $(SUITE) --include $(B)/include $(if $(O),-v,--every $(OWN_EVERY)) \
		$(if $(W),--ways $(W)) $(SUITE_FLAGS) $(CACHE)/operators $(foreach o,$(O),'$(o)')

# Every operator of the standard has tests of its gradient among these, with fixed sizes and with sizes known only at run time; or onnxcc
# says where there is no gradient.
TESTS += gradients
test-gradients: setup $(B)/table.json
	@$(PYTHON) tests/operators/cases.py $(CACHE)/operators
	@$(PYTHON) tests/operators/differentiable.py $(CACHE)/operators $(B)/table.json $(B)/onnxcc

# The same gradients, in float and double, compared with torch's autograd. T='torch_attention*': only these, in detail; every
# TORCH_EVERY-th also as C.
TORCH_EVERY ?= 100
test-gradients-torch: setup $(B)/table.json $(B)/suite/run $(B)/suite/call $(B)/suite/call-sanitized $(B)/include/onnxcc
	@tests/operators/setup-torch $(CACHE)
	@PYTHONPATH=tests $(CACHE)/torch-venv/bin/python tests/operators/gradients_torch.py $(CACHE)/gradients-torch $(B)/table.json
	@mkdir -p $(SUITE)/torch && ln -sf ../call ../call-sanitized $(SUITE)/torch
	@$(SUITE)/run --own gradients-torch --build $(SUITE)/torch --include $(B)/include $(if $(T),-v,--every $(TORCH_EVERY)) \
		$(if $(W),--ways $(W)) $(SUITE_FLAGS) $(CACHE)/gradients-torch $(foreach t,$(T),'$(t)')
.PHONY: test-gradients test-gradients-torch

# The types in the support table are those of the standard's schemas.
# Parts: ir/schema, ir/opset.
TESTS += schemas
SHARED += $(B)/table.json
$(B)/table.json: $(B)/onnxcc
	@$< --list-ops=json >$@.new && mv $@.new $@
test-schemas: setup $(B)/table.json
	@$(PYTHON) tests/operators/schemas.py $(B)/table.json
.PHONY: test-operators test-schemas

# A test for every type of every type variable of every version of every operator in the support table: small models of such nodes,
# evaluated by the compiler, every CELLS_EVERY-th also as C. O='Cast_*': only these, with every node in a model of its own.
TESTS += cells
CELLS_EVERY ?= 300
CELLS = $(CACHE)/cells$(if $(O),-apart)
test-cells: setup $(B)/table.json $(B)/suite/run $(B)/suite/call $(B)/suite/call-sanitized $(B)/include/onnxcc
	@$(PYTHON) tests/operators/cells.py $(CELLS) $(B)/table.json $(foreach o,$(O),'$(o)')
	@mkdir -p $(SUITE)/cells && ln -sf ../call ../call-sanitized $(SUITE)/cells
	@$(SUITE)/run --own cells --build $(SUITE)/cells --include $(B)/include $(if $(O),-v,--every $(CELLS_EVERY)) \
		$(if $(W),--ways $(W)) $(SUITE_FLAGS) $(CELLS)
.PHONY: test-cells
