/* startup.c - code before main() on a Cortex-M4, M7 or M55, and main()'s services: output of text, and exit, both by
 * semihosting (through a debugger or QEMU). For another board, replace this file and CORE.ld with the board's own. */
#include <stdint.h>

#include "board.h"

extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];
int main(void);
void reset(void);

#define CPACR (*(volatile uint32_t *)0xE000ED88)       /* access to the floating-point unit */
#define SYST_CSR (*(volatile uint32_t *)0xE000E010)    /* SysTick: control, reload, current value */
#define SYST_RVR (*(volatile uint32_t *)0xE000E014)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018)

/* A request to the debugger: operation and argument. */
static int semihosting(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void board_print(const char *text) { semihosting(4, text); } /* SYS_WRITE0 */

_Noreturn void board_exit(int status)
{
    const uint32_t reason[2] = {0x20026, (uint32_t)status}; /* the application has ended, with this status */
    semihosting(0x20, reason);                              /* SYS_EXIT_EXTENDED */
    for (;;)
        ;
}

uint32_t board_ticks(void) { return 0xFFFFFF - SYST_CVR; }

static void fault(void)
{
    board_print("fault\n");
    board_exit(2);
}

void reset(void)
{
    CPACR |= 0xF << 20;
    __asm__ volatile("dsb\n isb" ::: "memory");
    for (uint32_t *from = data_load, *to = data_begin; to < data_end;)
        *to++ = *from++;
    for (uint32_t *to = bss_begin; to < bss_end;)
        *to++ = 0;
    SYST_RVR = 0xFFFFFF;
    SYST_CVR = 0;
    SYST_CSR = 5; /* counts down with the processor's clock */
    board_exit(main());
}

/* The first words of the memory at 0: stack, reset, then the exceptions. */
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_top,           (const void *)reset, (const void *)fault, (const void *)fault,
    (const void *)fault, (const void *)fault, (const void *)fault,
};
