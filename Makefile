# cpa - critical-path profiler for pthread programs
#
#   make                      build/libcpa.so and build/cpa with cpa-report, cpa-diff, cpa-top, cpa-ctl
#   make tests                what the tests need, without running any
#   make check                every test that gates, and lint
#   make check-long           the same, longer, then unit and torture tests under sanitizers
#   make check-real           real programs of Debian, which it installs: tests/real/results.md
#   make accuracy             statistical checks, which do not gate: a table
#   make examples             the programs of docs/tutorial.md, in build/examples
#   make check-package        builds the packages of debian/ and tries them, in a folder of its own
#   make lint                 clang-format, clang-tidy, codespell, atomics without a comment
#   make bench                cost tables, see benchmarks/; BENCH='--quick' is shorter
#   make bench-accuracy       predictions beside what changes did; BENCH='--rounds 3' is shorter
#   make install [PREFIX=/usr/local] [DESTDIR=]     make uninstall     make clean
#
#   V=1 shows the commands; WERROR=1 makes warnings errors; CC=clang changes the compiler;
#   SAN=address,undefined or SAN=thread builds the tools and tests with it, in a folder of its
#   own; O=DIR builds there. The first build needs what `scripts/setup --deps-only` installs.

VERSION := 0.1.0

comma := ,
SAN ?=
O   ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
Q   := $(if $(V),,@)
say  = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$@')

CFLAGS ?= -O2 -g
# Of the tools alone: checks that libcpa.so must not have.
TOOL_FLAGS ?=
WARN   := -Wall -Wextra -Wshadow -Wundef -Wvla $(if $(WERROR),-Werror)
WARN_C := -Wstrict-prototypes -Wmissing-prototypes
# _LGPL_SOURCE: liburcu is used through its inline headers only, never linked.
BASE   := -D_GNU_SOURCE -D_LGPL_SOURCE -I. -pthread

# Inside the target. -fexceptions: cancellation unwinds through the wrappers. libgcc_s stays
# shared: a private copy of its personality routine would read the other copy's unwind context.
PIC_CFLAGS  := -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-plt -fexceptions \
	-fno-semantic-interposition
# gcc 12 clears structures of some 80 bytes to 8 KiB by an instruction (rep stos) that takes 30 cycles to begin.
# Not with this option, which other compilers do not know.
PIC_CLEAR   := -mmemset-strategy=unrolled_loop:256:noalign,rep_8byte:-1:noalign
PIC_CFLAGS  += $(shell $(CC) $(PIC_CLEAR) -S -o /dev/null -x c /dev/null 2>/dev/null && echo $(PIC_CLEAR))
PIC_LDFLAGS := -shared -Wl,-z,defs -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete \
	-Wl,--exclude-libs,ALL -Wl,--as-needed
EXPORTS     := preload/exports.map

# SAN never reaches libcpa.so or tests/programs: the first is loaded into programs built
# without it, the second are such programs.
# TSan knows no fences: gcc would refuse what has them. What they order it may report as a race.
SANFLAGS   := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer) \
	$(if $(filter thread,$(SAN)),-Wno-tsan)
PROG_FLAGS := -O2 -g -fno-omit-frame-pointer -pthread

objects     = $(patsubst %.c,$(O)/$(1)/%.o,$(2))
programs    = $(patsubst %,$(O)/%,$(basename $(1)))
PIC_OBJ    := $(call objects,pic,$(wildcard preload/*/*.c shadow/*/*.c))
SHADOW_OBJ := $(call objects,obj,$(wildcard shadow/*/*.c))
REPORT_OBJ := $(call objects,obj,$(filter-out analysis/launch/%,$(wildcard analysis/*/*.c))) \
	$(O)/obj/analysis/page/embed.o
CPA_OBJ    := $(call objects,obj,$(wildcard analysis/launch/*.c))
KNOWN_SRC  := $(patsubst %,tests/programs/known_%.c,path sync expect)
KNOWN_OBJ  := $(call objects,prog,$(KNOWN_SRC))

UNIT    := $(call programs,$(wildcard tests/unit/test_*.c))
TOOLED  := $(UNIT) $(call programs,$(wildcard tests/property/*.c tests/torture/*.c)) \
	$(O)/benchmarks/rebuild $(O)/tests/e2e/flip
TARGETS := $(call programs,$(filter-out $(KNOWN_SRC),$(wildcard tests/programs/*.c)))
TARGETS_CXX := $(call programs,$(wildcard tests/programs/*.cpp))
# Loaded into programs.
SHARED  := tests/conformance/library tests/conformance/adversary benchmarks/bare \
	tests/plugins/slow_kill tests/plugins/slow_close tests/plugins/slow_clock
CONFORMANCE := $(filter-out $(SHARED:%=$(O)/%),$(call programs,$(wildcard tests/conformance/*.c)))
EXAMPLES := $(call programs,$(wildcard examples/*.c))
BENCHES := $(filter-out $(TOOLED) $(SHARED:%=$(O)/%),$(call programs,$(wildcard benchmarks/*.c)))
# A target that needs a library of its own: LDLIBS_<name> = -l..., and what its compiler needs.
LDLIBS_known_glib = $(shell pkg-config --libs glib-2.0)
LDLIBS_known_uv   = $(shell pkg-config --libs libuv)
LDLIBS_known_apr  = $(shell pkg-config --libs apr-util-1 apr-1)
LDLIBS_steps      = -lgomp
LDLIBS_openmp_operations = -lgomp
LDLIBS_blocking_matrix = $(LDLIBS_known_glib) $(LDLIBS_known_uv) $(LDLIBS_known_apr)

TOOLS    := cpa cpa-report cpa-diff cpa-top cpa-ctl
PRODUCTS := $(O)/libcpa.so $(TOOLS:%=$(O)/%)
REPORT_LIBS = $(or $(shell pkg-config --libs libdw libelf jansson zlib sqlite3),$(error libraries are \
	missing; run scripts/setup --deps-only)) -liberty

# Changed flags rebuild everything; WERROR alone does not.
FLAGS := $(strip $(CC) $(CXX) $(CFLAGS) $(TOOL_FLAGS) $(filter-out -Werror,$(WARN)) $(WARN_C) $(BASE) \
	$(PIC_CFLAGS) $(SANFLAGS) $(PROG_FLAGS) $(VERSION))
ifneq ($(file <$(O)/flags),$(FLAGS))
$(shell mkdir -p $(O))
$(file >$(O)/flags,$(FLAGS))
endif

.PHONY: all tests examples check check-long check-real check-package accuracy lint
.PHONY: bench bench-accuracy install uninstall clean
.DELETE_ON_ERROR:
all: $(PRODUCTS)
tests: all examples $(TOOLED) $(TARGETS) $(TARGETS_CXX) $(CONFORMANCE) $(BENCHES) $(SHARED:%=$(O)/%.so)
examples: $(EXAMPLES)

$(O)/pic/%.o: %.c $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(CFLAGS) $(WARN) $(WARN_C) $(BASE) $(PIC_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/obj/%.o: %.c $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(CFLAGS) $(TOOL_FLAGS) $(WARN) $(WARN_C) $(BASE) $(SANFLAGS) \
		-DCPA_VERSION='"$(VERSION)"' -MMD -MP -c -o $@ $<

# The page of cpa-report --html.
$(O)/page/head.html: scripts/embed-page.sh $(wildcard analysis/page/*.js analysis/page/*.css \
	analysis/page/*.html)
	$(call say,GEN)
	$(Q)bash $< $(@D)
$(O)/obj/analysis/page/embed.o: analysis/page/embed.S $(O)/page/head.html
	$(call say,AS)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -Wa,-I$(O)/page -c -o $@ $<

$(O)/prog/%.o: %.c $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(PROG_FLAGS) $(WARN) $(BASE) -MMD -MP -c -o $@ $<

$(O)/prog/%.o: %.cpp $(O)/flags
	$(call say,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=gnu++20 $(PROG_FLAGS) $(WARN) $(BASE) -MMD -MP -c -o $@ $<

$(O)/jemalloc.a: scripts/private-jemalloc.sh
	$(call say,GEN)
	$(Q)mkdir -p $(@D)
	$(Q)CC='$(CC)' bash $< $@

$(O)/libcpa.so: $(PIC_OBJ) $(O)/jemalloc.a $(EXPORTS)
	$(call say,LINK)
	$(Q)$(CC) $(PIC_LDFLAGS) -Wl,--version-script=$(EXPORTS) $(LDFLAGS) -pthread -o $@ \
		$(PIC_OBJ) $(O)/jemalloc.a -lm

# Archives, so that a program takes only the parts it calls. What a test calls in analysis/ must not
# share a file with main().
$(O)/libshadow.a: $(SHADOW_OBJ)
$(O)/libanalysis.a: $(REPORT_OBJ)
$(O)/libshadow.a $(O)/libanalysis.a:
	$(call say,AR)
	$(Q)rm -f $@ && ar crs $@ $^

$(O)/cpa-top: TOP_LIBS = $(or $(shell pkg-config --libs ncursesw),$(error ncurses is missing; \
	run scripts/setup --deps-only))
$(O)/cpa-report: $(O)/obj/analysis/report/report.o
$(O)/cpa-diff: $(O)/obj/analysis/compare/diff.o
$(O)/cpa-top: $(O)/obj/analysis/top/top.o
$(O)/cpa-ctl: $(O)/obj/analysis/ctl/ctl.o
$(O)/cpa-report $(O)/cpa-diff $(O)/cpa-top $(O)/cpa-ctl: $(O)/libanalysis.a $(O)/libshadow.a
	$(call say,LINK)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -pthread -o $@ $(filter %.o,$^) $(filter %.a,$^) \
		$(REPORT_LIBS) $(TOP_LIBS) -lm

$(O)/cpa: $(CPA_OBJ) $(O)/libanalysis.a $(O)/libshadow.a
	$(call say,LINK)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ -liberty

$(UNIT): TEST_LIBS := -lcmocka
$(TOOLED): $(O)/%: $(O)/obj/%.o $(O)/libanalysis.a $(O)/libshadow.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -pthread -Wl,--as-needed -o $@ $^ $(TEST_LIBS) \
		$(REPORT_LIBS) -lm

$(TARGETS) $(TARGETS_CXX): $(O)/%: $(O)/prog/%.o $(KNOWN_OBJ)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(if $(filter $@,$(TARGETS_CXX)),$(CXX),$(CC)) $(PROG_FLAGS) -o $@ $^ \
		$(LDLIBS_$(notdir $*)) -lm

$(O)/prog/examples/loop.o $(O)/examples/loop: PROG_FLAGS += -fopenmp

$(CONFORMANCE) $(BENCHES) $(EXAMPLES): $(O)/%: $(O)/prog/%.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROG_FLAGS) -o $@ $^ $(LDLIBS_$(notdir $*))

$(SHARED:%=$(O)/%.so): $(O)/%.so: $(O)/prog/%.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROG_FLAGS) -shared -o $@ $^

$(SHARED:%=$(O)/prog/%.o): PROG_FLAGS += -fPIC
$(O)/prog/tests/programs/known_glib.o: PROG_FLAGS += $(shell pkg-config --cflags glib-2.0)
$(O)/prog/tests/programs/known_uv.o: PROG_FLAGS += $(shell pkg-config --cflags libuv)
$(O)/prog/tests/programs/blocking_matrix.o: PROG_FLAGS += $(shell pkg-config --cflags glib-2.0 \
	libuv apr-util-1 apr-1)
$(O)/prog/tests/programs/known_apr.o: PROG_FLAGS += $(shell pkg-config --cflags apr-util-1 apr-1)
$(O)/prog/tests/programs/instrumented_%.o: PROG_FLAGS += -finstrument-functions

check:
	+@O='$(O)' MAKE='$(MAKE)' tests/run

check-long:
	+@O='$(O)' MAKE='$(MAKE)' tests/run --long

accuracy:
	+@O='$(O)' MAKE='$(MAKE)' tests/run build accuracy

# As root it installs the programs; NAMES='pigz xz' are these alone.
check-real: all
	CPA_BUILD='$(abspath $(O))' tests/real/run.py --install \
		$(or $(NAMES),--table tests/real/results.md)

check-package:
	CPA_BUILD='$(abspath $(O))' tests/real/package.py

lint: LINT_FLAGS = -std=gnu11 $(BASE) $(filter-out -Werror,$(WARN)) $(WARN_C) \
	-DCPA_VERSION="$(VERSION)" $(shell pkg-config --cflags glib-2.0 libuv apr-util-1 apr-1)
lint:
	@O='$(O)' LINT_FLAGS='$(LINT_FLAGS)' scripts/lint

bench: tests
	CPA_BUILD='$(abspath $(O))' benchmarks/run $(BENCH)

bench-accuracy: tests
	CPA_BUILD='$(abspath $(O))' benchmarks/accuracy.py $(BENCH)

PREFIX  ?= /usr/local
DEST     = $(DESTDIR)$(PREFIX)
MANPAGES = $(foreach section,1 3 7,$(patsubst man/%,man$(section)/%,$(wildcard man/*.$(section))))
BASH_DIR = $(DEST)/share/bash-completion/completions
ZSH_DIR  = $(DEST)/share/zsh/site-functions
FISH_DIR = $(DEST)/share/fish/vendor_completions.d
CMAKE    = cpa-config.cmake cpa-config-version.cmake

install: all
	install -D -m 755 -t $(DEST)/bin $(TOOLS:%=$(O)/%)
	install -D -m 644 -t $(DEST)/lib/cpa $(O)/libcpa.so
	install -D -m 644 -t $(DEST)/include preload/cpa.h
	install -d $(DEST)/share/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' preload/cpa.pc.in \
		>$(DEST)/share/pkgconfig/cpa.pc
	install -d $(DEST)/share/cmake/cpa
	for file in $(CMAKE); do sed 's|@VERSION@|$(VERSION)|' preload/$$file.in \
		>$(DEST)/share/cmake/cpa/$$file || exit; done
	for page in $(MANPAGES); do \
		install -D -m 644 man/$${page#*/} $(DEST)/share/man/$$page || exit; done
	for tool in $(TOOLS); do \
		install -D -m 644 scripts/completion/cpa $(BASH_DIR)/$$tool || exit; done
	install -D -m 644 -t $(ZSH_DIR) scripts/completion/_cpa
	for tool in $(TOOLS); do install -D -m 644 scripts/completion/cpa.fish \
		$(FISH_DIR)/$$tool.fish || exit; done

uninstall:
	rm -f $(TOOLS:%=$(DEST)/bin/%) $(DEST)/lib/cpa/libcpa.so
	rm -f $(DEST)/include/cpa.h $(DEST)/share/pkgconfig/cpa.pc
	rm -f $(MANPAGES:%=$(DEST)/share/man/%)
	rm -f $(TOOLS:%=$(BASH_DIR)/%) $(ZSH_DIR)/_cpa $(TOOLS:%=$(FISH_DIR)/%.fish)
	rm -f $(CMAKE:%=$(DEST)/share/cmake/cpa/%)
	-rmdir $(DEST)/lib/cpa $(DEST)/share/cmake/cpa

clean:
	rm -rf $(O) build-address-undefined build-thread

-include $(shell find $(O) -name '*.d' 2>/dev/null)
