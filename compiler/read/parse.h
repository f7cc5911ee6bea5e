/* parse.h - the interface between the files that read a model: parse.c, parse_attr.c, parse_data.c, parse_graph.c,
 * parse_names.c, parse_notes.c, parse_tensor.c, parse_type.c, external.c. */
#pragma once

#include "onnx.pb.h"
#include "ir/data.h"
#include "read/wire.h"

/* Limits. Later stages recurse over nested graphs and types, so their depth is limited. */
enum {
    MAX_GRAPHS_DEEP = 100,
    MAX_TYPES_DEEP = 32,
    MAX_MODEL_NODES = 1 << 20,
    MAX_FUNCTIONS = 10000,
    MAX_IMPORTS = 256
};

/* parse_type.c */
/* Reads a TypeProto; NULL: empty, or wrong and reported. own_names: dimension names are local, as in a function's
 * value_info. strict: an element type is required. */
TypeDesc *read_type(Span s, const Path *p, bool own_names, bool strict);
const char *type_text(const TypeDesc *d); /* "seq(tensor(float[2,N]))" */

/* parse_tensor.c */
/* Reads a TensorProto; its bytes stay in the file if they have our layout. NULL: wrong, and reported. */
Tensor *read_tensor(Model *m, Span s, const Path *p, Name *tensor_name);
Tensor *read_sparse(Model *m, Span s, const Path *p, Name *tensor_name); /* as a dense tensor */

/* parse_data.c */
/* Reads a TensorProto, SequenceProto, OptionalProto or MapProto; errors are reported. */
Data parse_data(Model *m, Form form, Span s, const Path *p);

/* external.c */
/* Maps the bytes of a tensor in another file; there must be `size` of them. False: wrong, and reported. */
bool external_span(Model *m, const Wire *entries, uint64_t size, Span *bytes, const Path *p);
bool map_file(int fd, size_t n, Span *s); /* maps n bytes until the session ends; false: see errno */
/* Keeps a file until close_kept or the end of the session closes it. files_begin must be called first. */
void files_begin(void);
int keep_open(int fd); /* returns fd */
void close_kept(void);

/* parse_names.c */
Value *find_value(const Graph *g, Name n); /* the value that a name in g refers to, or NULL; check.c checks the order */
const Function *function_of(const Graph *g); /* in whose body g is, or NULL */

/* parse_graph.c */
/* parent: the graph that outer names refer to, or NULL; owner: the node whose attribute the graph is, or NULL. */
Graph *read_graph(Model *m, Span s, const Path *p, Graph *parent, Node *owner);
Graph *read_body(Model *m, const onnx_FunctionProto *f, Function *to, const Path *p);
bool types_clash(const TypeDesc *a, const TypeDesc *b); /* do two declarations contradict each other? */
TypeDesc *type_of_tensor(const Tensor *t);

/* parse_attr.c */
/* Reads an AttributeProto of node n in g, with its nested graphs. False: wrong, and reported. */
bool read_attr(Model *m, Span s, Attr *a, const Path *p, Graph *g, Node *n);

/* parse_notes.c */
void read_annotations(const Graph *g, const Wire *w, const Path *p);
void read_devices(Model *m, const Wire *w);
void read_placements(const Graph *g, const Wire *w, const Path *p);
