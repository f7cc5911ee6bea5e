/* symbol.h - symbols: sizes known only at run time, and the origins of their values. */
#pragma once

#include "ir/tensor.h"

/* A symbol: a dimension known only at run time. */
struct Symbol {
    Name name;         /* the dim_param, or a generated name; unique */
    Name why;          /* a generated name without #N, which need not be unique; or NULL */
    int64_t low, high; /* inclusive; high == INT64_MAX: no bound yet */
    Dim upper;         /* an upper bound that may depend on other symbols */
    Name bound;        /* the declared dimension of an output that bounds it, by whose name it is asked for; or NULL */
    bool user;         /* named in the model, so that --dim can set it */
    struct Origin {    /* of its value at run time */
        enum { ORIGIN_CALLER, ORIGIN_INPUT, ORIGIN_ELEMENT, ORIGIN_NODE } kind;
        union {
            Value *value; /* ORIGIN_INPUT: the model's input; ORIGIN_ELEMENT: an integer tensor */
            Node *node;   /* ORIGIN_NODE: its kernel reports the size (NonZero) */
        };
        int index; /* the input's dimension, the tensor's element */
    } origin;
    struct Symbol *next; /* of the same tensor or node */
    int id;
    Dim fixed;             /* what it is known to equal; otherwise itself */
    Value *seen;           /* a value declared with this size, for which inference found */
    int64_t size;          /* ... this size */
    bool clashes;          /* it was found to be two numbers, and this was said */
    int64_t value;         /* during a run inside the compiler */
    bool known;            /* its value is known at this point of the run or of the emitted code */
    struct Symbol *beside; /* scope.c: the next symbol of the same graph */
    const char *c;         /* variable in the emitted C ... */
    bool is_wide;          /* ... which is an i64, as the value may exceed idx */
};
Symbol *symbol_by_name(Name n); /* the model's symbol of that name; created if missing */
/* A new symbol, named `why` or why#N. --dim for this name, for `why` or, if that is v[0], for v tightens the bounds. */
Symbol *symbol_fresh(const char *why, int64_t low, int64_t high);
Name symbol_option(const Symbol *s); /* the shortest name by which --dim sets it */
Dim dim_symbol(Symbol *s);
int symbol_count(void);
Symbol *symbol_at(int i);
void symbol_made_by(Symbol *s, Node *n); /* sets its origin: a size that n's kernel reports */
void symbol_read_from(Symbol *s, Value *v, int element);
void symbol_of_input(Symbol *s, Value *v, int axis); /* unless it has an origin */
void *symbol_origin(const Symbol *s); /* the value or node that determines it during a run; NULL: the caller does */
Graph *symbol_graph(const Symbol *s); /* the graph in which it becomes known; NULL: the caller passes it */
void symbols_move(Value *from, Value *to); /* makes `to`, with the same elements, the origin of from's symbols */
Symbol *symbols_of(const void *origin);    /* the first symbol whose origin is this node or value; then .next */
void symbol_fix(Symbol *s, Dim d);         /* defines s as d; expressions over s change at their next dim_resolve */
Symbol *symbol_of(Dim d);                  /* the symbol, if d is just a symbol; else NULL */
