# The packages for Python and Debian: built from a copy of the sources (with this build's objects), installed elsewhere, used, removed.
TESTS += $(call in-turn,5,packages)
test-packages: setup all portable
	@$(PYTHON) tests/suite/generate.py $(CACHE)/suite
	@rm -rf $(B)/packages
	@B=$(B) CACHE=$(CACHE) $(PYTHON) tests/packages/run.py
.PHONY: test-packages
