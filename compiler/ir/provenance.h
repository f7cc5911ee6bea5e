/* provenance.h - where steps and constants come from (--map): the nodes of the model, in the order of the file, what
 * became of those without code, and for each constant the initializers and the operations that it was computed from.
 * Without --map nothing is recorded. */
#pragma once

#include "ir/graph.h"

/* How a constant came to be; shared by all that were computed from it. */
typedef struct Provenance {
    enum { FROM_INITIALIZER, FROM_OPTION, FROM_NODE, FROM_ATTRIBUTES } kind;
    Name name;              /* FROM_INITIALIZER, FROM_OPTION (--const): the model's name; FROM_NODE: the operator */
    const Source *source;   /* FROM_NODE, FROM_ATTRIBUTES: the model's node; NULL: none */
    const Also *also;       /* ... and others that were fused into it */
    int n_attr, n;          /* FROM_NODE: its attributes, and what it was computed from */
    const Attr *attr;       /* ... the numbers among them */
    struct Provenance **of; /* ... NULL: an input that was omitted */
    int index, next, seen;  /* index: its number in the file + 1; 0: none yet. next, seen: of walks */
    int initializer;        /* FROM_INITIALIZER: its number */
} Provenance;

/* A node of the model, and what became of it besides steps and constants. */
typedef struct ModelNode {
    const Source *source;
    const char *gone; /* why it has no code; NULL: not recorded */
    bool folded;      /* its results were known when compiling */
    bool sized;       /* ... as expressions over sizes */
    int owner;        /* the node in whose graph it is; -1: none */
    VEC(int) readers; /* the nodes that read its results */
} ModelNode;

bool provenance_is_on(void);
void provenance_begin(Model *m); /* after parsing: lists the nodes, and the initializers */
int model_nodes(ModelNode **list);
/* The nodes of the model whose work n does, with the calls of the functions in whose bodies they are; of a copy that
 * the compiler inserted the node that computes, or else one that reads, what is copied. */
typedef VEC(const Source *) Sources;
Sources provenance_sources(const Node *n);
int model_initializers(Provenance *const **list);
Name model_node_path(int i); /* "graph.node[3]" */
/* The index of the model's node that s, or the copy of a function's body or of an expansion, comes from; -1: none. */
int model_node(const Source *s);
void provenance_folded(const Node *n); /* after n was inferred: its constant results come from its inputs */
/* The constant t was computed from these, as by the operator `how`, for n. */
void provenance_made(Tensor *t, const Node *n, const char *how, int k, Value *const *in);
void provenance_option(Tensor *t, Name input); /* by --const */
/* t, of which each element is the number that each element of `of` is: by "onnxcc.Splat". */
Tensor *provenance_splat(Tensor *t, const Value *of);
void provenance_gone(const Node *n, const char *why); /* n has no code of its own */
void provenance_part(Name part, Name whole);          /* a tensor is part of this sequence, optional or map */
void provenance_copied(const Source *s);              /* of a function's body, for a call */
