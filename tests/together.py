"""Several tests of suite/run in one translation unit, because the kernels that they share take most of a C compiler's time."""
MAX_TESTS, BYTES = 24, 1 << 20       # tests, and bytes of C


def together(folders, most=MAX_TESTS, largest=BYTES):
    """The tests, in order, as one list for each translation unit. Tests of the same name, whose functions would clash, and large tests
    are in separate ones."""
    units, names, size = [], set(), 0
    for folder in folders:
        more = (folder / "m.c").stat().st_size
        if not units or len(units[-1]) == most or size + more > largest or folder.name in names:
            units.append([])
            names, size = set(), 0
        units[-1].append(folder)
        names.add(folder.name)
        size += more
    return units


def translation_unit(folders, name):
    """The text of a translation unit; test i is described by NAME_i."""
    return '#include "case.h"\n' + "".join(
        f'#undef SUITE_CASE\n#define SUITE_CASE {name}_{i}\n#include "{folder.resolve()}/case.c"\n' for i, folder in enumerate(folders))
