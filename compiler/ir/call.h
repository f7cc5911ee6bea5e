/* call.h - a node's call: the kernel or the elementwise loop that it is bound to, with the parameters. */
#pragma once

#include "ir/kernel.h"

/* Binds node n to kernel k. The pointers are the node's first inputs and its outputs, as many as the kernel takes.
 *   BIND(n, softmax, .outer = shape_product(s, 0, a), .axis = s.dim[a], .inner = D(1));
 * T is the type of input 0 (of output 0 if there is no input); BIND_T gives it explicitly, BIND2 gives T and U. */
#define BIND(n, k, ...) BIND2(n, k, NO_TYPE, NO_TYPE, __VA_ARGS__)
#define BIND_T(n, k, t, ...) BIND2(n, k, t, NO_TYPE, __VA_ARGS__)
#define BIND2(n, k, t, u, ...) bind_kernel(n, #k, t, u, k##_fields(), &(struct k##_bind){__VA_ARGS__}, NULL, 0)
/* With explicit pointers (inputs, then outputs): BIND_ARGS(n, conv, F32, NO_TYPE, ARGS(x, w, b, y), .kh = ...) */
#define ARGS(...) ((Value *[]){__VA_ARGS__}), (int)(sizeof((Value *[]){__VA_ARGS__}) / sizeof(Value *))
#define BIND_ARGS(n, k, t, u, args, ...)                                                                               \
    BIND_ARGS_(n, k, t, u, args, __VA_ARGS__)
#define BIND_ARGS_(n, k, t, u, args, n_args, ...)                                                                      \
    bind_kernel(n, #k, t, u, k##_fields(), &(struct k##_bind){__VA_ARGS__}, args, n_args)
void bind_kernel(Node *n, const char *kernel, Type t, Type u, const Field *fields, const void *params,
                 Value *const *args, int n_args);
bool call_takes(const Call *c, const Value *v); /* is v an argument? */
/* After a BIND: the kernel's bytes of scratch; the symbol of the i-th size that it reports. */
void bind_scratch(Node *n, Dim bytes);
void bind_size(Node *n, int i, Symbol *s);
/* In infer: the i-th size that n's kernel will report, at most `max`; every call returns the same symbol. --dim refers
 * to it by the name of the output, or as NAME_what. */
Dim reported_size(Node *n, int i, const char *what, Dim max);
/* After a BIND: passes these sizes to the call. reported_room: the upper bound that such a size has room for. */
void bind_reported(Node *n);
Dim reported_room(Dim size);

/* Sets n->call by the bind or pointwise of its schema; reports an error if there is no kernel. */
void bind_node(Node *n);
void unbind_node(Node *n); /* frees what bind_node made */

/* ---- parameters of a call ---------------------------------------------------------------------------------- */

/* One parameter: an array's field has several. */
typedef struct Slot {
    const Field *field;
    int i; /* index in the array */
    Param *param;
} Slot;
static inline Slot first_slot(const Call *c) { return (Slot){c->fields, 0, c->param}; }
static inline Slot next_slot(Slot s)
{
    const bool more = s.i + 1 < s.field->count;
    return (Slot){more ? s.field : s.field + 1, more ? s.i + 1 : 0, s.param + 1};
}
#define EACH_SLOT(s, c) for (Slot s = first_slot(c); s.field->type != FIELD_END; s = next_slot(s))

#define EACH_SIZE(s, c) EACH_SLOT (s, c) if (field_is_size(s.field)) /* the slots whose parameter is a size */

Param *call_param(const Call *c, const char *field); /* the first slot of the field; NULL: no such field */
