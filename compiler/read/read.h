/* read.h - a file becomes a graph, and is checked against the rules of the format. */
#ifndef ONNXCC_READ_H
#define ONNXCC_READ_H

#include "ir/graph.h"

/* parse.c */
Model *parse_model(const char *file); /* bytes -> graph, names bound to values */
/* The same of bytes in memory, called `file` in messages; folder: where external data is, or NULL. */
Model *parse_bytes(const char *file, const void *bytes, size_t n, const char *folder);
Tensor *parse_tensor(const void *bytes, size_t n, const char *where); /* one TensorProto (.pb) */
Tensor *read_tensor_file(const char *file); /* a .pb file with one TensorProto; fails with exit 3 or 1 */

/* external.c */
/* Pages of the mapped files that were read need not stay in memory; they are still readable. */
void forget_pages(void);
/* Call before reading `bytes` of constants; drops pages read earlier once they exceed 1 MB. */
void about_to_read(size_t bytes);

/* check.c */
void check_model(Model *m);      /* order, arity, attributes, names */
void check_inlined(Model *m);    /* what calls left out of functions' nodes */
bool check_types(const Node *n); /* do the types of the inputs suit the schema? Reports */

#endif
