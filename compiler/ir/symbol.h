/* symbol.h - sizes known only at run time: symbols, and where their values come from. */
#ifndef ONNXCC_SYMBOL_H
#define ONNXCC_SYMBOL_H

#include "ir/tensor.h"

/* A symbol: a dimension known only at run time. */
struct Symbol {
    Name name;         /* dim_param, or a made-up one; unique */
    int64_t low, high; /* inclusive; high == INT64_MAX: no bound yet */
    Dim upper;         /* may be over other symbols: it has a bound when they have */
    bool user;         /* named in the model, so that --dim can set it */
    Value *from;       /* where its run-time value comes from: an element of an integer tensor, ... */
    int element;
    Value *input; /* ... or dimension `axis` of a graph input, ... */
    int axis;
    Node *node;          /* ... or the size that a kernel reports (NonZero) */
    struct Symbol *next; /* of the same node or `from` */
    int id;
    Dim fixed;             /* what it is, when that is known; else itself */
    Value *seen;           /* a value with this size, of which is known that it is */
    int64_t size;          /* ... this number */
    int64_t value;         /* while exec.c runs */
    bool known;            /* it has its value: in this run, or where the emitted text is now */
    struct Symbol *beside; /* scope.c: of the same graph */
    const char *c;         /* variable in the emitted C */
};
Symbol *symbol_by_name(Name n); /* model-wide: one meaning per name; made when missing */
Symbol *symbol_fresh(const char *why, int64_t low,
                     int64_t high); /* bounds are tightened by --dim for this name, or for all symbols named `why` */
Dim dim_symbol(Symbol *s);
int symbol_count(void);
Symbol *symbol_at(int i);
void symbol_made_by(Symbol *s, Node *n); /* n reports its value */
void symbol_read_from(Symbol *s, Value *v, int element);
void symbols_move(Value *from, Value *to); /* which has the same elements */
Symbol *symbols_of(const void *origin);    /* the first of those that this node reports, or that this value gives */
void symbol_fix(Symbol *s, Dim d);         /* s is d from now on; expressions over s follow at their next dim_resolve */
Symbol *symbol_of(Dim d);                  /* the symbol when d is nothing but a symbol; else NULL */

#endif
