# Operators beyond the official tests: cases of our own, against ONNX Runtime or, where that has none, ONNX's reference.
# O='own_dft* own_svm*': only these, in detail; as C: every OWN_EVERY-th; W as for the official tests.
TESTS += operators
OWN_EVERY ?= 24
test-operators: setup $(B)/suite/run $(B)/suite/call $(B)/suite/call-sanitized $(B)/include/onnxcc
	@$(PYTHON) tests/operators/cases.py $(CACHE)/operators
	@$(SUITE)/run --own operators --build $(SUITE) --include $(B)/include $(if $(O),-v,--every $(OWN_EVERY)) \
		$(if $(W),--ways $(W)) $(SUITE_FLAGS) $(CACHE)/operators $(foreach o,$(O),'$(o)')

# The support table: its types are those of the standard's schemas.
TESTS += schemas
test-schemas: setup $(B)/onnxcc
	@$(B)/onnxcc --list-ops=json >$(B)/table.json
	@$(PYTHON) tests/operators/schemas.py $(B)/table.json
.PHONY: test-operators test-schemas
