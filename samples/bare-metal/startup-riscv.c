/* startup-riscv.c - code before main() on a 32-bit RISC-V, main()'s services on QEMU's virt, and the three functions that
 * emitted code asks a libc for. For another board, replace this file and riscv32.ld with the board's own. */
#include <stddef.h>
#include <stdint.h>

#include "board.h"

extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];
int main(void);
void start(void);

#define UART (*(volatile uint8_t *)0x10000000)
#define POWER (*(volatile uint32_t *)0x00100000) /* 0x5555: ends the run; 0x3333: with a status in the upper half */
#define CSR ".option arch, +zicsr\n" /* not in -march, for which Debian has no libgcc with it */

__asm__(".section .vectors, \"ax\"\n.global reset\nreset:\n.option push\n.option norelax\n"
        "la sp, stack_top\n.option pop\ncall start\n.text\n");

void board_print(const char *text)
{
    while (*text)
        UART = (uint8_t)*text++;
}

_Noreturn void board_exit(int status)
{
    POWER = status ? (uint32_t)status << 16 | 0x3333 : 0x5555;
    for (;;)
        ;
}

uint32_t board_ticks(void)
{
    uint32_t cycles;
    __asm__ volatile(CSR "csrr %0, mcycle" : "=r"(cycles));
    return cycles & 0xFFFFFF;
}

static void __attribute__((aligned(4))) fault(void)
{
    board_print("fault\n");
    board_exit(2);
}

void start(void)
{
    __asm__ volatile(CSR "csrw mtvec, %0" ::"r"(fault));
    for (uint32_t *from = data_load, *to = data_begin; to < data_end;)
        *to++ = *from++;
    for (uint32_t *to = bss_begin; to < bss_end;)
        *to++ = 0;
    board_exit(main());
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    char *t = to;
    for (const char *f = from; n--;)
        *t++ = *f++;
    return to;
}

void *memset(void *to, int c, size_t n)
{
    for (char *t = to; n--;)
        *t++ = (char)c;
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    char *t = to;
    const char *f = from;
    if ((uintptr_t)t - (uintptr_t)f >= n)
        return memcpy(to, from, n);
    while (n--)
        t[n] = f[n];
    return to;
}
