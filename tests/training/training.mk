# Training models as C, step by step beside numpy; saved states; new values computed in place.
# Parts: passes/training, ops/entry, emit/emit_training, memory/share.
TESTS += training
test-training: setup all
	@B=$(abspath $(B)) $(PYTHON) tests/training/run.py
.PHONY: test-training
