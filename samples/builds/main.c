/* main.c - prints what the model needs. */
#include "model.h"

#include <stdio.h>

int main(void)
{
    printf("arena %d bytes, stack %d bytes; status 0 is \"%s\"\n", (int)MODEL_ARENA_BYTES, (int)MODEL_STACK_BYTES,
           model_status(0));
    return 0;
}
