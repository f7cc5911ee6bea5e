/* depend.h - the dependency file (-MD): a rule for make and ninja that the files written depend on those read. */
#ifndef ONNXCC_DEPEND_H
#define ONNXCC_DEPEND_H

void depend_input(const char *file);
void depend_output(const char *file);
void depend_write(const char *file); /* an output, which is not in the rule itself */

#endif
