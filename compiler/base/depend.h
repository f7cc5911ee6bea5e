/* depend.h - the dependency file (-MD): a rule for make and ninja that the files written depend on those read. */
#pragma once

void depend_input(const char *file);
void depend_write(const char *file); /* an output, which is not in the rule itself */
