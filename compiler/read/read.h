/* read.h - reads a file into a graph and checks it against the rules of the format. */
#pragma once

#include "ir/data.h"

/* parse.c */
Model *parse_model(const char *file); /* a graph with names bound to values */
/* The same from memory; file: the name for messages; folder: of external data, or NULL. */
Model *parse_bytes(const char *file, const void *bytes, size_t n, const char *folder);
Tensor *parse_tensor(const void *bytes, size_t n, const char *where); /* one TensorProto (.pb) */
Tensor *read_tensor_file(const char *file);       /* a .pb file with one TensorProto; fails with exit 3 or 1 */
Data read_data_file(const char *file, Form form); /* the same for a sequence, an optional or a map */

/* parse_graph.c */
void input_declare(Value *v); /* v becomes an input of the model, of the type v->desc */

/* parse_names.c */
/* After an error about the name n: the name visible in g that differs by one typing error, if any. */
void suggest_value(const Graph *g, Name n);

/* external.c */
/* Lets the system drop the pages of mapped files from memory; they remain readable. */
void forget_pages(void);
/* Call before reading `bytes` of constants; drops pages read earlier once they exceed 1 MB. */
void about_to_read(size_t bytes);

/* check.c */
void check_model(Model *m);      /* order, arity, attributes, names */
void check_inlined(Model *m);    /* after inlining: nodes whose arguments a call omitted */
bool check_types(const Node *n); /* checks the types of the inputs against the schema */

/* check_order.c */
void check_order(Graph *g); /* of g and its nested graphs */
