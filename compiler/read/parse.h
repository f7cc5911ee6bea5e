/* parse.h - what the files that read a model share: parse.c, parse_graph.c, parse_notes.c,
 * parse_tensor.c, parse_type.c, external.c. */
#ifndef ONNXCC_PARSE_H
#define ONNXCC_PARSE_H

#include "onnx.pb.h"
#include "ir/graph.h"
#include "read/wire.h"

/* Nested graphs and types go as deep as this; the stages that follow may recurse over them. */
enum {
    MAX_GRAPHS_DEEP = 100,
    MAX_TYPES_DEEP = 32,
    MAX_MODEL_NODES = 1 << 20,
    MAX_FUNCTIONS = 10000,
    MAX_IMPORTS = 256
};

/* parse_type.c */
/* A TypeProto, or NULL when it says nothing (or was wrong, which is reported). Of a function's value_info, dimension
 * names mean nothing outside: own_names. strict: an element type must be given. */
TypeDesc *read_type(Span s, const Path *p, bool own_names, bool strict);
const char *type_text(const TypeDesc *d); /* "seq(tensor(float[2,N]))" */

/* parse_tensor.c */
/* A TensorProto; its bytes stay where they are when they are as ours. NULL: wrong, and reported. */
Tensor *read_tensor(Model *m, Span s, const Path *p, Name *tensor_name);
Tensor *read_sparse(Model *m, Span s, const Path *p, Name *tensor_name); /* made dense */

/* external.c */
/* The bytes of a tensor in another file, which must be `size`. False: wrong, and reported. */
bool external_span(Model *m, const Wire *entries, uint64_t size, Span *bytes, const Path *p);
bool map_file(int fd, size_t n, Span *s); /* until the run ends; false: errno */
/* A file that is open for the moment, until close_kept; the run's end closes it, too. files_begin goes before. */
void files_begin(void);
int keep_open(int fd); /* fd */
void close_kept(void);

/* parse_graph.c */
/* parent: where names that are not found inside are looked up; owner: the node whose attribute the graph is. */
Graph *read_graph(Model *m, Span s, const Path *p, Graph *parent, Node *owner);
Graph *read_body(Model *m, const onnx_FunctionProto *f, Function *to, const Path *p);
Value *find_value(const Graph *g, Name n); /* that a name in g means, or NULL; whether it is there yet is for check.c */
/* One AttributeProto, with nested graphs seen from n in g. False: wrong, and reported. */
bool read_attr(Model *m, Span s, Attr *a, const Path *p, Graph *g, Node *n);

/* parse_notes.c */
void read_annotations(const Graph *g, const Wire *w, const Path *p);
void read_devices(Model *m, const Wire *w);
void read_placements(const Graph *g, const Wire *w, const Path *p);

#endif
