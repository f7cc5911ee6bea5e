# Projects (samples/builds) with an installed copy of onnxcc, built out of tree: the model is compiled again only when it has changed.
# Dependency files, --check, budgets, the command in the banner. Folders of --package.
# Parts: base/depend, base/compare, emit/banner, emit/budget, emit/package.
TESTS += $(call in-turn,4,builds)
test-builds: setup all
	@rm -rf $(B)/builds && mkdir -p $(B)/builds
	@for p in 'installed' 'installed elsewhere'; do \
		$(MAKE) --no-print-directory --silent install PREFIX="$(abspath $(B))/builds/$$p" >/dev/null || exit 1; done
	@B=$(B) $(PYTHON) tests/builds/run.py
	@for p in 'installed' 'installed elsewhere'; do \
		$(MAKE) --no-print-directory --silent uninstall PREFIX="$(abspath $(B))/builds/$$p" || exit 1; done
	@! find '$(B)/builds/installed' '$(B)/builds/installed elsewhere' -type f | grep .
.PHONY: test-builds
