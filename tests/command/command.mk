# What is generated from the table of options: --help, the man page (by mandoc and groff), the completions in real shells. Messages.
# Names with * = < and \ in options.
# Parts: arguments, base/options, emit/banner, manual, base/codes, base/nearest, base/say.
TESTS += command
test-command: setup all
	@rm -rf $(B)/command && mkdir -p $(B)/command
	@B=$(B) $(PYTHON) tests/command/run.py
.PHONY: test-command
