"""The machines that emitted code is built for and run on, with Debian's packages."""
import dataclasses
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
ARM = "arm-none-eabi-"


@dataclasses.dataclass
class Machine:
    prefix: str             # prefix of the tools: aarch64-linux-gnu-
    flags: str              # flags of the C compiler
    run: str                # command that runs a program; empty: this machine
    target: str = ""        # --target, besides generic
    board: str = ""         # of a bare machine: flags of the linker, for the code before main() (board.c) and the memories
    needs: str = ""         # features that this processor must have: words of /proc/cpuinfo
    instead: "Machine" = None   # a replacement if it lacks one
    big_endian: bool = False
    before: str = ""        # a header beside this file that replaces one of the C compiler's

    def __post_init__(self):
        self.flags, self.run, self.board = self.flags.split(), self.run.split(), self.board.split()
        if self.instead and self.lacks():
            self.flags, self.needs, self.before = self.instead.flags, self.instead.needs, self.instead.before

    def headers(self):
        """The headers that replace the C compiler's."""
        return [HERE / self.before] if self.before else []

    def tool(self, name):
        return f"{self.prefix}{name}"

    def lacks(self):
        """The features that this processor lacks; empty: it can run programs for the machine."""
        if not self.needs:
            return ""
        flags = pathlib.Path("/proc/cpuinfo").read_text().split()
        return " ".join(f for f in self.needs.split() if f not in flags)


def qemu(system, board):
    return f"qemu-system-{system} -machine {board} -nographic -monitor none -serial none -semihosting-config enable=on,target=native -kernel"


def placed(symbols):
    return " ".join(f"-Wl,--defsym={s}={n}" for s, n in symbols.items())


def cortex(core, board, base, flags, vectors=0):
    memories = {"BASE": base, "VECTORS": vectors}
    return Machine(ARM, f"-mcpu=cortex-{core} -mthumb {flags}", qemu("arm", board), f"cortex-{core}",
                   f"--specs=rdimon.specs -nostartfiles -T{HERE / 'board.ld'} {placed(memories)}")


def riscv32(flags):
    memories = {"flash": 0x80000000, "flash_size": 32 << 20, "ram": 0x82000000, "ram_size": 64 << 20, "stack_size": 1 << 20}
    return Machine("riscv64-unknown-elf-", f"{flags} --specs=picolibc.specs", qemu("riscv32", "virt -bios none"), "riscv32",
                   "--crt0=semihost --oslib=semihost " + placed({f"__{m}": n for m, n in memories.items()}))


AVX2 = "avx2 fma bmi2 f16c"
# AVX-512 without such a processor: vectors of 16 floats as loops over their elements.
LOOPS = Machine("", "-march=x86-64-v3 -Wno-psabi -D__AVX512F__ -D__AVX512VL__ -D__AVX512BW__ -D__AVX512DQ__ -D__AVX512CD__", "",
                needs=AVX2, before="avx512/immintrin.h")

MACHINES = {
    "aarch64": Machine("aarch64-linux-gnu-", "", "qemu-aarch64"),
    "armhf": Machine("arm-linux-gnueabihf-", "", "qemu-arm"),
    "riscv64": Machine("riscv64-linux-gnu-", "", "qemu-riscv64"),
    "s390x": Machine("s390x-linux-gnu-", "", "qemu-s390x", big_endian=True),
    "i386": Machine("i686-linux-gnu-", "", "qemu-i386"),
    "x86-64": Machine("", "", ""),
    "one-element": Machine("", "-U__SSE2__", ""),
    "x86-64-v2": Machine("", "-march=x86-64-v2", "", "x86-64-v2", needs="sse4_2 popcnt"),
    "avx": Machine("", "-mavx", "", needs="avx"),
    "x86-64-v3": Machine("", "-march=x86-64-v3", "", "x86-64-v3", needs=AVX2),
    "x86-64-v4": Machine("", "-march=x86-64-v4 -mprefer-vector-width=512", "", "x86-64-v4",
                         needs="avx512f avx512bw avx512dq avx512vl avx512cd", instead=LOOPS),
    "riscv32": riscv32("-march=rv32imc -mabi=ilp32"),
    "cortex-m0plus": cortex("m0plus", "mps2-an385", 0x21000000, ""),  # runs on a Cortex-M3, which has all instructions of an M0+
    "cortex-m3": cortex("m3", "mps2-an385", 0x21000000, ""),
    "cortex-m4": cortex("m4", "mps2-an386", 0x21000000, "-mfloat-abi=hard -mfpu=fpv4-sp-d16"),
    "cortex-m7": cortex("m7", "mps2-an500", 0x60000000, "-mfloat-abi=hard -mfpu=fpv5-d16"),
    "cortex-m33": cortex("m33", "mps2-an505", 0x80000000, "-mfloat-abi=hard -mfpu=fpv5-sp-d16", 0x10000000),
    "cortex-m55": cortex("m55", "mps3-an547", 0x70000000, "-mfloat-abi=hard"),
}
# One of these for each commit, as other machines run nearly the same code.
IN_TURN = ["riscv32", "cortex-m0plus", "cortex-m33", "x86-64", "avx"]
