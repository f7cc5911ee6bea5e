/* board.c - code before main() on a bare processor in QEMU. Files are the host's, by semihosting in the C library: newlib on
 * Cortex-M; picolibc, which has its own code before main(), on RISC-V. */
#include <stdint.h>
#include <stdlib.h>

#ifdef __riscv
#include <semihost.h>
#include <stdio.h>

/* picolibc's standard streams are one, the host's standard error. */
static int put(char c, FILE *f);
static FILE out = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE),
            err = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);
FILE *const stdin = NULL, *const stdout = &out, *const stderr = &err;

static int put(char c, FILE *f)
{
    static int to[2]; /* 0: not opened */
    int *const fd = &to[f == stderr];
    *fd = *fd ? *fd : sys_semihost_open(":tt", f == stderr ? SH_OPEN_A : SH_OPEN_W);
    sys_semihost_write(*fd, &c, 1);
    return (unsigned char)c;
}

static __attribute__((aligned(4))) void fault(void) { abort(); }

static __attribute__((constructor)) void catch_faults(void)
{
    __asm__ volatile(".option arch, +zicsr\n csrw mtvec, %0" : : "r"(fault));
}
#else
extern char stack_top[];
int main(void);
void initialise_monitor_handles(void);
void reset(void);

#define CPACR (*(volatile uint32_t *)0xE000ED88) /* access to the floating-point unit */
#define CCR (*(volatile uint32_t *)0xE000ED14)   /* which accesses are faults */

static void fault(void) { abort(); }

void reset(void)
{
    CPACR |= 0xF << 20;
#if __ARM_ARCH == 6
    CCR |= 1 << 3; /* unaligned accesses are faults, also where a larger processor runs a smaller one's code */
#endif
    __asm__ volatile("dsb\n isb" ::: "memory");
    initialise_monitor_handles();
    exit(main());
}

/* The first words of the memory at 0: stack, reset, then the exceptions. */
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_top,           (const void *)reset, (const void *)fault, (const void *)fault,
    (const void *)fault, (const void *)fault, (const void *)fault,
};
#endif
