# Shared by the samples for a PC. TARGET: onnxcc's target, by default x86-64-v3 if this processor has AVX2, otherwise generic.
TARGET ?= $(if $(shell grep -s 'avx2' /proc/cpuinfo),x86-64-v3,generic)
B ?= build
ROOT = ../..
ONNXCC = $(ROOT)/build/onnxcc
CACHE ?= $(or $(ONNXCC_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/onnxcc)

CC ?= cc
CFLAGS ?= -O3 -Wall -Wextra
override CFLAGS += -std=c99 $(if $(filter x86%,$(TARGET)),-march=$(TARGET))

all:
$(ONNXCC):
	$(MAKE) -C $(ROOT) all
clean:
	rm -rf build
.PHONY: all run clean
