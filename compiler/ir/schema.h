/* schema.h - the parsed schemas of operators: signatures, type sets, attributes. */
#pragma once

#include "ir/ops.h"

#define MAX_FORMALS 32
#define MAX_VARIABLES 16
#define MAX_ATTRS 40

/* In a TypeSet, besides the types: */
#define TYPE_SEQUENCE (1ull << 40)
#define TYPE_OPTIONAL (1ull << 41)
#define TYPE_MAP (1ull << 42)

/* One formal input or output of a signature. */
typedef struct Formal {
    Name name;
    bool optional, variadic, mixed; /* mixed: variadic, with different types */
    TypeSet set;
    int variable; /* index of its type variable; formals with the same one have the same type; -1: none */
} Formal;

typedef struct FormalAttr {
    Name name, value; /* value: the default as text, or NULL */
    AttrType type;
    bool optional;
} FormalAttr;

typedef struct Signature {
    int n_in, n_out, n_var, n_attr;
    Formal in[MAX_FORMALS], out[MAX_FORMALS];
    Name var[MAX_VARIABLES];
    FormalAttr attr[MAX_ATTRS];
} Signature;

const Signature *op_signature(const Op *op);                                 /* parsed at the first call */
const FormalAttr *formal_attr(const Signature *signature, const char *name); /* or NULL */
/* Formal i; the last one also for further variadic ones; NULL: too many. */
const Formal *formal_in(const Signature *signature, int i);
const Formal *formal_out(const Signature *signature, int i);

/* The schema of (domain, name) if `version` of the domain is imported; NULL: none. */
const Op *op_find(const char *domain, const char *name, int64_t version);
const Op *const *ops_sorted(int *n); /* all schemas, sorted by domain, name, version */
const char *op_domain(const Op *op); /* "" for ai.onnx */
