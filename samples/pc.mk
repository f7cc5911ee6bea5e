# What the samples for a PC share. TARGET: the processor to compile for, by default the best that onnxcc has for this one.
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
