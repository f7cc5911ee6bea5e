/* murmur.c - MurmurHash3 of com.microsoft. */
#include "murmur.h"
#include "ir/call.h"

static void murmur_infer(Node *n) { set_out(n, 0, attr_int(n, "positive") == 1 ? U32 : I32, in_shape(n, 0)); }

static void murmur_bind(Node *n)
{
    Type t = in_type(n, 0);
    BIND_T(n, murmur, t == STR ? STR : type_storage(t), .count = shape_count(in_shape(n, 0)),
           .seed = D((int32_t)attr_int(n, "seed")));
}

static const Op murmur_ops[] = {
    {"MurmurHash3", 1, "X:T1 -> Y:T2", "T1=int32|uint32|int64|uint64|float|double|string T2=int32|uint32",
     "positive:int=1 seed:int=0", .infer = murmur_infer, .bind = murmur_bind, .domain = "com.microsoft"},
};
OPS(murmur_ops);
