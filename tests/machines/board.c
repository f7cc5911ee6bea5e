/* board.c - code before main() on a bare Cortex-M in QEMU; files are the host's, by newlib's semihosting. */
#include <stdint.h>
#include <stdlib.h>

extern char stack_top[];
int main(void);
void initialise_monitor_handles(void);
void reset(void);

#define CPACR (*(volatile uint32_t *)0xE000ED88) /* access to the floating-point unit */

static void fault(void) { abort(); }

void reset(void)
{
    CPACR |= 0xF << 20;
    __asm__ volatile("dsb\n isb" ::: "memory");
    initialise_monitor_handles();
    exit(main());
}

/* The first words of the memory at 0: stack, reset, then the exceptions. */
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_top,           (const void *)reset, (const void *)fault, (const void *)fault,
    (const void *)fault, (const void *)fault, (const void *)fault,
};
