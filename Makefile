# onnxcc: `make` builds build/onnxcc, build/libonnxcc.a and build/libonnxcc-rt.a; `make install` installs them; `make demo` compiles and
# runs an example; `make test` runs every test. See README.md.

CC ?= gcc
AR ?= ar
OBJCOPY ?= objcopy
CFLAGS ?= -O2 -g
WARN = -Wall -Wextra -Wshadow -Wmissing-prototypes
B ?= build

ROOMS = base ir read passes ops gradient memory plain emit verify
SOURCES = $(wildcard compiler/*.c $(ROOMS:%=compiler/%/*.c))
# A kernel's header contains REGISTER_KERNEL or REGISTER_FALLIBLE; the other headers are what kernels are built on.
KERNELS = $(notdir $(shell grep -lE '^(REGISTER_KERNEL|REGISTER_FALLIBLE)' runtime-min/*.h))
RT_HEADERS = $(wildcard runtime-min/*.h runtime-min/*.def) runtime-min/rt.c

PB = $(B)/onnx.pb.o
LIBS = -lprotobuf-nanopb -lxxhash -lm

# The image formats that need libraries (runtime-hosted) are in onnxcc and the tests if Debian's -dev packages are installed.
CODEC_LIBS = libjpeg libwebp libtiff-4 libopenjp2
ifeq ($(shell pkg-config --exists $(CODEC_LIBS) 2>/dev/null && echo yes),yes)
CODECS = $(B)/onnxcc-codecs.o
CODEC_LINK := $(shell pkg-config --libs $(CODEC_LIBS))
LIBS += $(CODEC_LINK)
endif

# The library for .npz files (onnxcc verify), where it is installed.
ifeq ($(shell pkg-config --exists libzip 2>/dev/null && echo yes),yes)
ZIP_CFLAGS := -DHAVE_LIBZIP $(shell pkg-config --cflags libzip)
ZIP_LINK := $(shell pkg-config --libs libzip)
LIBS += $(ZIP_LINK)
endif

# The library's objects are position-independent, for shared libraries, and export its interface alone.
LIBRARY_CFLAGS = -fPIC -fvisibility=hidden -ftls-model=initial-exec
HOST_CFLAGS = -std=gnu11 $(LIBRARY_CFLAGS) -DONNXCC_COMPILER -D_GNU_SOURCE -Icompiler -iquote runtime-min -I$(B) $(WARN)
# Kernels run by the compiler must have the bits of the emitted code: no contraction into fused multiply-adds.
KERNEL_LEVEL ?= -O2
KERNEL_CFLAGS = -std=gnu99 -ffp-contract=off -fno-math-errno -Wall -Wextra

OBJECTS = $(SOURCES:compiler/%.c=$(B)/%.o) $(B)/embedded.o
# The kernels that the compiler runs; its other builds (sanitized ...) use those of the first.
HOST ?= $(B)/host
HOST_KERNELS = $(KERNELS:%.h=$(HOST)/%.o) $(CODECS)
LIBRARY = $(KERNELS:%.h=$(B)/rt/%.o)

# V=1 prints the commands; otherwise only their targets are printed.
ifndef V
.SILENT:
endif
MAKES = $(if $(V),@:,@echo "  $@")

# `make -j setup all`: a second make builds, after setup, since make looks for installed libraries when it starts.
ifneq ($(filter setup,$(MAKECMDGOALS)),)
all: setup
	@$(MAKE) --no-print-directory $@
else
all: $(B)/onnxcc $(B)/libonnxcc.a $(B)/libonnxcc-rt.a $(B)/include/onnxcc
endif

$(B)/onnxcc: $(OBJECTS) $(HOST_KERNELS) $(PB)
	$(MAKES)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# One object, so that all of its operators and kernels come with it.
$(B)/libonnxcc.a: $(filter-out $(B)/main.o $(B)/verify/%.o,$(OBJECTS)) $(HOST_KERNELS) $(PB)
	$(MAKES)
	$(CC) -r -nostdlib -o $(B)/libonnxcc.o $^
	$(OBJCOPY) --keep-global-symbol=onnxcc_compile --keep-global-symbol=onnxcc_version $(B)/libonnxcc.o
	@rm -f $@
	$(AR) rcsD $@ $(B)/libonnxcc.o

# The command and a shared library for other machines: they need no library but libc and libm, and lack the image formats and .npz files.
PORTABLE_LIBS = -l:libprotobuf-nanopb.a -l:libxxhash.a -lm
portable: $(B)/portable/onnxcc $(B)/portable/libonnxcc.so
$(B)/portable/onnxcc: $(OBJECTS:$(B)/verify/numpy.o=$(B)/portable/numpy.o) $(filter-out $(CODECS),$(HOST_KERNELS)) $(PB)
	$(MAKES)
	$(CC) $(CFLAGS) $(LDFLAGS) -s -o $@ $^ $(PORTABLE_LIBS)
$(B)/portable/libonnxcc.so: $(filter-out $(B)/main.o $(B)/verify/%.o,$(OBJECTS)) $(filter-out $(CODECS),$(HOST_KERNELS)) $(PB)
	$(MAKES)
	$(CC) $(CFLAGS) $(LDFLAGS) -s -shared -Wl,--exclude-libs,ALL -o $@ $^ $(PORTABLE_LIBS)
$(B)/portable/numpy.o: compiler/verify/numpy.c Makefile | $(B)/onnx.pb.h $(B)/portable
	$(MAKES)
	$(CC) $(CFLAGS) $(HOST_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/libonnxcc-rt.a: $(LIBRARY)
	$(MAKES)
	@rm -f $@
	$(AR) rcsD $@ $^

# The compiler's scalar functions must have the bits of the emitted code, too.
$(B)/ir/scalar.o: CFLAGS += -O3 -ffp-contract=off
$(B)/verify/numpy.o: HOST_CFLAGS += $(ZIP_CFLAGS)
$(B)/%.o: compiler/%.c Makefile | $(B)/onnx.pb.h $(ROOMS:%=$(B)/%)
	$(MAKES)
	$(CC) $(CFLAGS) $(HOST_CFLAGS) -MMD -MP -c -o $@ $<
$(HOST)/%.o: runtime-min/%.h runtime-min/rt.c Makefile | $(HOST)
	$(MAKES)
	$(CC) $(KERNEL_LEVEL) $(KERNEL_CFLAGS) $(LIBRARY_CFLAGS) -DONNXCC_COMPILER -DONNXCC_HOST -Icompiler -iquote runtime-min -DKERNELS='"$*.h"' -MMD -MP -c -o $@ runtime-min/rt.c
$(B)/rt/%.o: runtime-min/%.h runtime-min/rt.c Makefile | $(B)/rt
	$(MAKES)
	$(CC) -O2 $(KERNEL_CFLAGS) -ffreestanding -ffunction-sections -DKERNELS='"$*.h"' -MMD -MP -c -o $@ runtime-min/rt.c

$(B)/onnxcc-codecs.o: runtime-hosted/codecs.c Makefile | $(B)
	$(CC) $(CFLAGS) -fPIC -std=gnu99 $(WARN) -Wno-missing-prototypes -iquote runtime-min $(shell pkg-config --cflags $(CODEC_LIBS)) -MMD -MP -c -o $@ $<

$(B)/onnx.pb.c $(B)/onnx.pb.h &: proto/onnx.proto proto/onnx.options | $(B)
	nanopb_generator.py --quiet -I proto -D $(B) onnx.proto
$(B)/onnx.pb.o: $(B)/onnx.pb.c
	$(MAKES)
	$(CC) $(CFLAGS) $(HOST_CFLAGS) -c -o $@ $<

# Texts embedded in onnxcc: the templates, the runtime for --single, the programs of onnxcc verify.
TEXTS = $(wildcard runtime-min/*.h runtime-min/*.def templates/*.in templates/package/*.in runtime-hosted/verify_*.c)
$(B)/embedded.c: $(TEXTS) Makefile | $(B)
	@{ echo '#include "emit/emit.h"'; echo 'const Embedded embedded[] = {'; for f in $(TEXTS); do \
	  echo "{\"$${f##*/}\","; sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $$f; echo '},'; done; \
	  echo '{0, 0}};'; } > $@
$(B)/embedded.o: $(B)/embedded.c
	$(CC) $(CFLAGS) $(HOST_CFLAGS) -c -o $@ $<

# The emitted code has #include <onnxcc/rt.h>.
$(B)/include/onnxcc: | $(B)
	@mkdir -p $(B)/include && ln -sfn ../../runtime-min $@

$(B) $(ROOMS:%=$(B)/%) $(HOST) $(B)/rt $(B)/portable:
	@mkdir -p $@

# The compiler under the address and undefined-behaviour sanitizers, in a folder of its own; tests/error uses it.
SANITIZERS = -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all
sanitized: $(HOST_KERNELS)
	@$(MAKE) --no-print-directory --silent -j$$(nproc) B=$(B)/sanitized HOST=$(B)/host CFLAGS='-O1 -g $(SANITIZERS)' $(B)/sanitized/onnxcc

# Installs the command, its man page and completions, the headers that its C includes, the library, and files for pkg-config, CMake
# and make. DESTDIR: a folder that stands for the root.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
BASHDIR ?= $(DATADIR)/bash-completion/completions
ZSHDIR ?= $(DATADIR)/zsh/site-functions
FISHDIR ?= $(DATADIR)/fish/vendor_completions.d
PKGCONFIG = $(LIBDIR)/pkgconfig
CMAKE = $(LIBDIR)/cmake/onnxcc
INSTALL_DATA = install -D -m 644
VERSION = $(shell sed -n 's/^\#define ONNXCC_VERSION "\(.*\)"/\1/p' compiler/base/util.h)
FROM = $(shell realpath -m --relative-to='$(1)' '$(2)')
FILL = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@BINDIR@|$(BINDIR)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
	-e 's|@DATADIR@|$(DATADIR)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(LIBS)|' -e 's|@TO_PREFIX@|$(call FROM,$(CMAKE),$(PREFIX))|' \
	-e 's|@FROM_PREFIX_BINDIR@|$(call FROM,$(PREFIX),$(BINDIR))|' -e 's|@FROM_PREFIX_INCLUDEDIR@|$(call FROM,$(PREFIX),$(INCLUDEDIR))|'
# Each in quotes: the folders may have spaces in their names.
FILLED = '$(DESTDIR)$(PKGCONFIG)/onnxcc.pc' '$(DESTDIR)$(PKGCONFIG)/libonnxcc.pc' '$(DESTDIR)$(CMAKE)/onnxcc-config.cmake' \
	'$(DESTDIR)$(CMAKE)/onnxcc-config-version.cmake' '$(DESTDIR)$(DATADIR)/onnxcc/onnxcc.mk'
INSTALLED = $(FILLED) '$(DESTDIR)$(BINDIR)/onnxcc' '$(DESTDIR)$(LIBDIR)/libonnxcc.a' '$(DESTDIR)$(LIBDIR)/libonnxcc-rt.a' \
	'$(DESTDIR)$(INCLUDEDIR)/libonnxcc.h' '$(DESTDIR)$(DATADIR)/onnxcc/report.schema.json' \
	'$(DESTDIR)$(DATADIR)/onnxcc/map.schema.json' '$(DESTDIR)$(MANDIR)/man1/onnxcc.1' '$(DESTDIR)$(BASHDIR)/onnxcc' \
	'$(DESTDIR)$(ZSHDIR)/_onnxcc' '$(DESTDIR)$(FISHDIR)/onnxcc.fish' \
	$(foreach h,$(RT_HEADERS:runtime-min/%=%),'$(DESTDIR)$(INCLUDEDIR)/onnxcc/$h')
install: all
	$(B)/onnxcc --man >$(B)/onnxcc.1
	$(foreach s,bash zsh fish,$(B)/onnxcc --completions=$s >$(B)/onnxcc.$s &&) true
	install -D $(B)/onnxcc '$(DESTDIR)$(BINDIR)/onnxcc'
	$(INSTALL_DATA) $(B)/libonnxcc.a '$(DESTDIR)$(LIBDIR)/libonnxcc.a'
	$(INSTALL_DATA) $(B)/libonnxcc-rt.a '$(DESTDIR)$(LIBDIR)/libonnxcc-rt.a'
	$(INSTALL_DATA) compiler/libonnxcc.h '$(DESTDIR)$(INCLUDEDIR)/libonnxcc.h'
	$(INSTALL_DATA) -t '$(DESTDIR)$(INCLUDEDIR)/onnxcc' $(RT_HEADERS)
	$(INSTALL_DATA) templates/install/onnxcc.pc.in '$(DESTDIR)$(PKGCONFIG)/onnxcc.pc'
	$(INSTALL_DATA) templates/install/libonnxcc.pc.in '$(DESTDIR)$(PKGCONFIG)/libonnxcc.pc'
	$(INSTALL_DATA) templates/install/onnxcc-config.cmake.in '$(DESTDIR)$(CMAKE)/onnxcc-config.cmake'
	$(INSTALL_DATA) templates/install/onnxcc-config-version.cmake.in '$(DESTDIR)$(CMAKE)/onnxcc-config-version.cmake'
	$(INSTALL_DATA) templates/install/onnxcc.mk.in '$(DESTDIR)$(DATADIR)/onnxcc/onnxcc.mk'
	$(INSTALL_DATA) $(B)/onnxcc.1 '$(DESTDIR)$(MANDIR)/man1/onnxcc.1'
	$(INSTALL_DATA) $(B)/onnxcc.bash '$(DESTDIR)$(BASHDIR)/onnxcc'
	$(INSTALL_DATA) $(B)/onnxcc.zsh '$(DESTDIR)$(ZSHDIR)/_onnxcc'
	$(INSTALL_DATA) $(B)/onnxcc.fish '$(DESTDIR)$(FISHDIR)/onnxcc.fish'
	$(INSTALL_DATA) -t '$(DESTDIR)$(DATADIR)/onnxcc' docs/report.schema.json docs/map.schema.json
	$(FILL) -i $(FILLED)
uninstall:
	rm -f $(INSTALLED)
	-rmdir '$(DESTDIR)$(INCLUDEDIR)/onnxcc' '$(DESTDIR)$(CMAKE)' '$(DESTDIR)$(DATADIR)/onnxcc'

# The cache of packages, the Python environment, and generated tests; outside the build folder, so that `make clean` leaves it.
CACHE ?= $(or $(ONNXCC_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/onnxcc)
PYTHON = PYTHONPATH=tests $(CACHE)/venv/bin/python
setup:
	@tests/setup $(CACHE)

# Every folder of tests has an .mk file, which adds NAME to TESTS and defines the target test-NAME; that prints failures,
# then "NAME: N passed, N failed". T=Softmax, T=read/external, T=test_softmax_axis_1: every test of one subject (tests/find.py).
# TESTS += $(call in-turn,N,NAME): NAME takes long, and runs for one of SETS commits, with all of the set N; with GROUPS=all always.
# $(call turn-of,N): counts the turns of what runs for one of N commits. The number of the commit would leave out what it
# selects in others, always.
# SHARED: targets that several groups need; tests/run makes them first if it runs several, at the same time.
TESTS =
SETS = 9
in-turn = $(if $(or $(filter all,$(GROUPS)),$(filter $1,$(shell expr $(OLD_TURN) % $(SETS)))),$2)
turn-of = $(shell expr $(OLD_TURN) / $1)
SHARED = sanitized $(B)/include/onnxcc
include $(sort $(wildcard tests/*/*.mk))
# While onnxcc is built, the packages for the tests are installed.
test:
	@tests/setup $(CACHE) build
	@tests/setup $(CACHE) & setup=$$!; $(MAKE) --no-print-directory -j$$(nproc) all; built=$$?; wait $$setup && exit $$built
	@export B=$(B); $(if $(T),$(PYTHON) tests/find.py $(CACHE) '$(T)',tests/run $(TESTS))
shared: all $(SHARED)

# All tests, each of them also as C; takes hours.
test-all:
	@$(MAKE) --no-print-directory test GROUPS=all EVERY=1 OPTIMISED_EVERY=1 NETWORKS_EVERY=1 OWN_EVERY=1 OLD_EVERY=1 FUZZ_EVERY=1 CELLS_EVERY=1 EXTREMES_EVERY=1

# From a fresh checkout to a network in C that classifies files: FILES='a b'.
FILES = README.md Makefile compiler/emit/emit.c tests/setup tests/models/fetch.py proto/onnx.proto $(B)/onnxcc
demo:
	@tests/setup $(CACHE) build
	@echo "demo: building onnxcc" && $(MAKE) --no-print-directory --silent -j$$(nproc) all
	@echo "demo: samples/filetype: magika's network to C, to a program" && $(MAKE) --no-print-directory --silent -C samples/filetype
	@samples/filetype/build/filetype $(FILES)

# Formats the C files by .clang-format; `make lint` checks the format.
format: setup
	@$(CACHE)/venv/bin/clang-format -i $$(git ls-files '*.c' '*.h')

# Measures the stack of every kernel, for reports and headers; takes minutes.
stack: setup
	@$(PYTHON) tests/emitted/stack.py $(KERNELS)

# Regenerates the table of operators.
table: $(B)/onnxcc
	$(B)/onnxcc --list-ops=markdown >$(B)/table.md
	sed -i -e '/^<!-- operators -->$$/,/^<!-- end -->$$/{/^<!--/!d}' -e '/^<!-- operators -->$$/r $(B)/table.md' docs/operators.md

clean:
	rm -rf $(B)

include packaging/packages.mk
-include $(OBJECTS:.o=.d) $(HOST_KERNELS:.o=.d) $(LIBRARY:.o=.d) $(B)/portable/numpy.d
.PHONY: all clean demo format install portable sanitized setup shared stack table test uninstall
