"""The names that common headers define: macros, types, variables, functions. headers.py FILE writes them as
compiler/emit/taken.def, the names that identifiers of a model must not have. Without FILE: has that file all names of this machine's
headers?"""
import functools
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAKEN = ROOT / "compiler/emit/taken.def"
STANDARD = """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype""".split()
POSIX = """alloca arpa/inet dirent dlfcn fcntl fnmatch ftw getopt glob grp iconv langinfo libgen malloc mqueue net/if netdb netinet/in
    netinet/tcp nl_types poll pthread pwd regex sched search semaphore spawn strings sys/epoll sys/eventfd sys/inotify sys/ioctl sys/ipc
    sys/mman sys/msg sys/param sys/resource sys/select sys/sem sys/shm sys/socket sys/stat sys/statvfs sys/time sys/timerfd sys/times
    sys/types sys/uio sys/un sys/utsname sys/wait syslog termios ucontext unistd utime utmpx wordexp""".split()
AVR = "avr/interrupt avr/io avr/pgmspace avr/sleep avr/wdt".split()
# Object-like macros of headers that are not on this machine: Arduino's, CMSIS's and its vendors', Windows'.
NUMBERED = {"ADC": 4, "CAN": 3, "DAC": 2, "DMA": 2, "I2C": 4, "I2S": 2, "LPUART": 2, "SPI": 6, "TIM": 20, "UART": 10, "USART": 10, "WWDG": 1}
VENDORS = """PI HALF_PI TWO_PI DEG_TO_RAD RAD_TO_DEG EULER HIGH LOW INPUT OUTPUT INPUT_PULLUP INPUT_PULLDOWN SERIAL DISPLAY LSBFIRST MSBFIRST
    CHANGE FALLING RISING DEFAULT EXTERNAL INTERNAL ANALOG LED_BUILTIN SDA SCL MOSI MISO SCK SS NOT_A_PIN NOT_A_PORT F_CPU ARDUINO
    PERIPH_BASE SRAM_BASE FLASH_BASE FLASH_SIZE FLASH PWR RCC RNG RTC CRC CRYP HASH EXTI SYSCFG AFIO IWDG DBGMCU QUADSPI SDIO SAI SCB NVIC
    NVIC_Type DWT ITM TPI TPIU MPU FPU SAU ICB DCB DIB SysTick CoreDebug SCnSCB SysTick_BASE SET RESET ENABLE DISABLE SUCCESS ERROR
    READ_BIT UNUSED HSE_VALUE HSI_VALUE LSE_VALUE TICK_INT_PRIORITY VDD_VALUE
    near far small hyper interface pascal cdecl huge IN OUT OPTIONAL TRUE FALSE CONST VOID FAR NEAR PASCAL CDECL CALLBACK WINAPI
    APIENTRY MAX_PATH DELETE THIS INTERFACE UNICODE DIFFERENCE ABSOLUTE RELATIVE STRICT INFINITE IGNORE NO_ERROR TRANSPARENT OPAQUE
    YES NO ON OFF BIT BYTES MIN MAX ABS DIM SIZE""".split()
VENDORS += [f"{name}{i}" for name, n in NUMBERED.items() for i in range(1, n + 1)] + [f"GPIO{c}" for c in "ABCDEFGHIJK"]
VENDORS += [f"B{i:0{n}b}" for n in range(1, 9) for i in range(1 << n)] + [f"A{i}" for i in range(16)]
COMPILERS = {"gcc": ["-std=gnu11", "-D_GNU_SOURCE"], "clang-14": ["-std=gnu11", "-D_GNU_SOURCE"], "arm-none-eabi-gcc": ["-D_GNU_SOURCE"],
             "avr-gcc": ["-D_GNU_SOURCE", "-mmcu=atmega2560"]}
POSSIBLE = re.compile(r"(?=.{1,30}$)[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")     # the identifiers that names.c can make
KEYWORDS = set("""auto char const double enum extern float inline int long register restrict return short signed static struct
    typedef union unsigned void volatile""".split())


@functools.lru_cache
def available(cc):
    """#include lines of the headers that compile by themselves with this compiler."""
    have = []
    for h in STANDARD + POSIX + AVR:
        p = subprocess.run([cc, *COMPILERS[cc], "-fsyntax-only", "-x", "c", "-"], input=f"#include <{h}.h>\n", capture_output=True, text=True)
        have += [h] if p.returncode == 0 else []
    return "".join(f"#include <{h}.h>\n" for h in have)


def macros(cc, source):
    """(object-like macros, function-like macros)"""
    out = subprocess.run([cc, *COMPILERS[cc], "-dM", "-E", "-x", "c", "-"], input=source, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^#define (\w+)(\(?)", out, re.M)
    return {n for n, p in found if not p}, {n for n, p in found if p}


def declared(cc, source):
    """Names at file scope: (types, variables and constants; functions)."""
    text = subprocess.run([cc, *COMPILERS[cc], "-E", "-P", "-x", "c", "-"], input=source, capture_output=True, text=True, check=True).stdout
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)\s*(?=[;,{)]|__)|__asm__\s*\(.*?\)", " ", text)
    constants = {n for body in re.findall(r"\benum\b[^{};]*\{([^}]*)\}", text) for n in re.findall(r"(?:^|,)\s*(\w+)", body)}
    while "{" in text:
        text, n = re.subn(r"\{[^{}]*\}", " ", text)
        if not n:
            break
    names, functions = set(constants), set()
    for statement in text.split(";"):
        m = re.search(r"(\w+)\s*\(\s*(?!\*)[^()]*(\([^()]*\)[^()]*)*\)", statement)
        if "typedef" in statement or not m:
            names |= set(re.findall(r"\b(\w+)\s*(?:\[[^]]*\]\s*)*$", statement.strip()))
            names |= set(re.findall(r"\(\s*\*\s*(\w+)\s*\)", statement))
        else:
            functions.add(m[1])
    return names, functions


@functools.lru_cache
def of_headers():
    """(names taken everywhere, names taken at file scope)"""
    everywhere, outside = set(), set()
    for cc in COMPILERS:
        source = available(cc)
        objects, calls = macros(cc, source)
        names, functions = declared(cc, source)
        everywhere |= objects | names
        outside |= calls | functions
    everywhere = {n for n in everywhere | set(VENDORS) if POSSIBLE.fullmatch(n)} - KEYWORDS
    return everywhere, {n for n in outside if POSSIBLE.fullmatch(n)} - KEYWORDS - everywhere


def written():
    parts = re.findall(r"TAKEN_\w+ \\\n((?: *\".*\"(?: \\)?\n)+)", TAKEN.read_text())
    return [set(" ".join(re.findall(r'"(.*)"', p)).split()) for p in parts]


def main():
    found = of_headers()
    if len(sys.argv) > 1:
        old = written() if TAKEN.exists() else (set(), set())
        parts = [sorted(f | o) for f, o in zip(found, old)]
        text = ("/* taken.def - names that headers of glibc, newlib, AVR libc, Arduino, CMSIS and Windows define: macros, types, variables,\n"
                " * constants, which no name of a model becomes; then functions, which none becomes at file scope.\n"
                " * Made by tests/hostile/headers.py. */\n")
        for kind, names in zip(("TAKEN_EVERYWHERE", "TAKEN_AT_FILE_SCOPE"), parts):
            lines = textwrap.wrap(" ".join(names), 112, break_long_words=False)
            text += f"#define {kind}" + "".join(f' \\\n    "{line} "' for line in lines) + "\n"
        TAKEN.write_text(text)


if __name__ == "__main__":
    main()
