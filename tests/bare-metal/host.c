/* host.c - the board of samples/bare-metal, on a machine with an operating system. */
#include <stdio.h>
#include <stdlib.h>

#include "board.h"

void board_print(const char *text) { fputs(text, stdout); }
uint32_t board_ticks(void) { return 0; }
_Noreturn void board_exit(int status) { exit(status); }
