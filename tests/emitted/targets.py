"""Names of processors that are not targets, and the nearest target of each: for every processor that gcc knows, by the features in
gcc's macros."""
import re
import subprocess

from stack import TARGETS

# The features that a target requires; the first match counts.
LEVELS = {
    "x86-64-v4": "AVX512F AVX512BW AVX512DQ AVX512VL AVX512CD",
    "x86-64-v3": "AVX2 FMA BMI2 F16C LZCNT",
    "x86-64-v2": "SSE4_2 POPCNT",
    "cortex-m55": "ARM_FEATURE_MVE ARM_FEATURE_DSP",
    "cortex-m33": "ARM_ARCH_8M_MAIN ARM_FEATURE_DSP",
    "cortex-m4": "ARM_FEATURE_DSP",
    "cortex-m3": "ARM_ARCH_7M",
    "cortex-m0plus": "ARM_ARCH_ISA_THUMB",
}
# Processors that gcc does not list, by their data sheets, in common spellings.
OTHERS = {
    "cortex-m0+": "cortex-m0plus", "cortex-m52": "cortex-m55", "cortex-m85": "cortex-m55", "cortex-m4f": "cortex-m4",
    "CORTEX-M4": "cortex-m4",
    "Cortex_M7": "cortex-m7", "cortex-a78c": "aarch64", "cortex-a720": "aarch64", "cortex-x4": "aarch64", "ARMv8": "aarch64",
    "armv8-r": "", "armv6-m": "cortex-m0plus", "armv7-a": "", "armv7e-m": "cortex-m4",
    "armv8-m.main": "", "armv8-m.main+dsp": "cortex-m33",
    "armv8.1-m.main": "", "armv8.1-m.main+mve": "cortex-m55", "arm64": "aarch64", "apple-m1": "aarch64", "graviton3": "aarch64",
    "bcm2711": "aarch64", "stm32f103": "cortex-m3", "STM32L152": "cortex-m3", "armv7-m": "cortex-m3",
    "stm32f407": "cortex-m4", "STM32L476": "cortex-m4", "stm32u575": "cortex-m33",
    "stm32f746": "cortex-m7", "stm32h743": "cortex-m7", "stm32h563": "cortex-m33", "stm32n657": "cortex-m55", "nrf51": "cortex-m0plus",
    "nrf52": "cortex-m4", "nrf52840": "cortex-m4", "rp2040": "cortex-m0plus", "rp2350": "cortex-m33",
    "esp32": "", "esp32s3": "", "esp32-c3": "riscv32",
    "xtensa": "", "avr5": "avr", "ATmega328P": "avr", "attiny85": "avr",
    "msp430": "", "mips": "", "s390x": "", "ppc64le": "", "wasm32": "", "rv32imc": "riscv32",
    "rv32imafc": "riscv32", "rv64imac": "", "rv64gc": "riscv64", "rv64imafdc": "riscv64", "rv64gcv": "riscv64", "k210": "riscv64",
    "znver4": "x86-64-v4", "znver5": "x86-64-v4", "raptorlake": "x86-64-v3", "meteorlake": "x86-64-v3",
    "graniterapids": "x86-64-v4", "x86_64_v3": "x86-64-v3", "AVX2": "x86-64-v3", "avx512": "x86-64-v4", "x86-64": "", "x86_64": "",
    "i686": "", "native": "", "": "", "*": "", "[": "",
}


def run(*command):
    return subprocess.run([*command, "-E", "-dM", "-x", "c", "/dev/null"], capture_output=True, text=True, check=False)


def names(cc, option):
    """The values of an option, as the C compiler lists them for an invalid one."""
    listed = re.search(r"valid arguments .*?are: (.*)", run(cc, f"{option}=no-such").stderr)[1]
    return [n for n in listed.split() if n not in (*TARGETS, *OTHERS)]


def has(macros, level):
    return all(re.search(rf"^#define __{word}(__)? ", macros, re.M) for word in level.split())


def by_macros(cc, option, name, targets):
    macros = run(cc, f"{option}={name}").stdout
    return next((t for t in targets if has(macros, LEVELS[t])), "")


def is_cortex_m(name):
    return '#define __ARM_ARCH_PROFILE 77' in run("arm-none-eabi-gcc", "-mthumb", f"-mcpu={name}").stdout


def neighbours():
    """(name, target or "" for generic)"""
    wide = names("aarch64-linux-gnu-gcc", "-mcpu")
    yield from ((n, "aarch64") for n in wide + names("aarch64-linux-gnu-gcc", "-march"))
    yield from ((n, by_macros("gcc", "-march", n, list(LEVELS)[:3])) for n in names("gcc", "-march"))
    narrow = [n for n in names("arm-none-eabi-gcc", "-mcpu") if n not in wide]
    yield from ((n, by_macros("arm-none-eabi-gcc", "-mcpu", n, list(LEVELS)[3:]) if is_cortex_m(n) else "") for n in narrow)
    yield from OTHERS.items()
