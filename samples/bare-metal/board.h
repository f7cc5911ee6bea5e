/* board.h - the machine's services for main(). */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

void board_print(const char *text);
uint32_t board_ticks(void); /* of the processor's clock, modulo 2^24 */
_Noreturn void board_exit(int status);

#endif
