/* random.c - RandomUniform, RandomNormal, Multinomial, Bernoulli, Dropout. The numbers depend only on the attribute
 * `seed` or, without one, on the node's position in the model: every run draws the same numbers, every node different
 * ones. In a training model they also depend on the state's generator. */
#include "passes/passes.h"
#include "ir/schema.h"
#include "ir/spatial.h"
#include "random.h"

/* ---- the sources: onnxcc.RandomUniform and RandomNormal of a shape, Multinomial -------------------------------- */

/* The key of the random sequence: the bits of the seed, a float or an integer; without a seed, a number beyond
 * these. */
static int64_t key_of(const Node *n)
{
    const Attr *seed = node_attr(n, "seed");
    uint32_t bits = 0;
    if (seed && seed->type == A_INT)
        return seed->i;
    if (seed)
        memcpy(&bits, &seed->f, sizeof bits);
    return seed ? (int64_t)bits : ((int64_t)1 << 62) + out(n, 0)->id;
}

/* Gives m the random sequence of n. */
static void set_key(Node *m, const Node *n)
{
    attr_set_int(m, "key", key_of(n));
    attr_set_int(m, "seeded", node_attr(n, "seed") != NULL);
}

/* Uniform (low, high) or normal (mean, scale) numbers of type t; shape: a value with the dimensions. */
static Value *drawn(Node *n, const char *op, Value *shape, Type t, const char *const *attrs)
{
    Value *y = with_int(make(n, op, 2, shape, training_generator(n->graph)), "dtype", t);
    set_key(y->def, n);
    for (int i = 0; attrs && i < 2; i++)
        attr_set_float(y->def, attrs[i], attr_float(n, attrs[i]));
    return y;
}

static void random_expand(Node *n)
{
    static const char *const ends[] = {"low", "high"}, *const moments[] = {"mean", "scale"};
    bool uniform = !strncmp(n->op->name, "RandomUniform", 13), like = n->n_in > 0;
    const int64_t *shape;
    int rank = like ? 0 : attr_ints(n, "shape", &shape);
    int64_t type = attr_is_given(n, "dtype") || !like ? attr_int(n, "dtype") : in_type(n, 0);
    if (type <= 0 || type >= N_TYPES || !(op_signature(n->op)->out[0].set >> type & 1)) {
        node_error(n, "random numbers of type %lld are not supported", (long long)type);
        note_help("set dtype to float, double, float16 or bfloat16");
        return;
    }
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0) {
            node_error(n, "dimension %d of the shape is %lld", i, (long long)shape[i]);
            return;
        }
    expand_to(n, drawn(n, uniform ? "onnxcc.RandomUniform" : "onnxcc.RandomNormal",
                       like ? make(n, "Shape", 1, in(n, 0)) : make_ints(n, rank, shape), (Type)type,
                       uniform ? ends : moments));
}

static void random_infer(Node *n)
{
    Shape y;
    y.rank = in_dims(n, 0, y.dim, MAX_RANK);
    if (y.rank >= 0)
        set_out(n, 0, (Type)attr_int(n, "dtype"), y);
}

static void uniform_bind(Node *n)
{
    Value *y = out(n, 0);
    BIND_ARGS(n, random_uniform, y->type, NO_TYPE, ARGS(in(n, 1), y), .count = shape_count(*y->shape),
              .key = D(attr_int(n, "key")), .seeded = D(attr_int(n, "seeded")), .low = attr_float(n, "low"),
              .high = attr_float(n, "high"));
}

static void normal_bind(Node *n)
{
    Value *y = out(n, 0);
    BIND_ARGS(n, random_normal, y->type, NO_TYPE, ARGS(in(n, 1), y), .count = shape_count(*y->shape),
              .key = D(attr_int(n, "key")), .seeded = D(attr_int(n, "seeded")), .mean = attr_float(n, "mean"),
              .scale = attr_float(n, "scale"));
}

static void multinomial_infer(Node *n)
{
    Shape x = in_shape(n, 0);
    int64_t type = attr_int(n, "dtype"), samples = attr_int(n, "sample_size");
    if (x.rank != 2 || dim_is(x.dim[1], 0))
        node_error(n, "the input %s must be a batch of rows", shape_text(x));
    else if (type != I32 && type != I64)
        node_error(n, "dtype %lld is neither int32 nor int64", (long long)type);
    else if (samples < 0)
        node_error(n, "sample_size is %lld: it must be at least 0", (long long)samples);
    else {
        assume_dim(n, dim_max(x.dim[1], D(1)), x.dim[1]);
        set_out(n, 0, (Type)type, shape_list(2, x.dim[0], D(samples)));
    }
}

/* Becomes the internal operator, whose key makes a copy of the node draw the same numbers. */
static void multinomial_expand(Node *n)
{
    Value *y = make(n, "onnxcc.Multinomial", 2, in(n, 0), training_generator(n->graph));
    attr_set_int(y->def, "dtype", attr_int(n, "dtype"));
    attr_set_int(y->def, "sample_size", attr_int(n, "sample_size"));
    set_key(y->def, n);
    expand_to(n, y);
}

static void multinomial_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    Type t = in_type(n, 0);
    BIND2(n, multinomial, t, out(n, 0)->type, .batch = x.dim[0], .classes = x.dim[1],
          .samples = out(n, 0)->shape->dim[1], .key = D(attr_int(n, "key")), .seeded = D(attr_int(n, "seeded")));
    bind_scratch(n, dim_mul(x.dim[1], D(type_bits(type_arith(t)) / 8)));
}

/* ---- Bernoulli and Dropout: uniform numbers below a limit ------------------------------------------------------ */

/* 1 with the probability x. */
static void bernoulli_expand(Node *n)
{
    Type t = in_type(n, 0) == F64 ? F64 : F32;
    Type to = attr_is_given(n, "dtype") ? attr_type(n, "dtype", attr_int(n, "dtype")) : in_type(n, 0);
    if (!to)
        return;
    Value *y = make(n, "Less", 2, drawn(n, "onnxcc.RandomUniform", make(n, "Shape", 1, in(n, 0)), t, NULL),
                    make_cast(n, in(n, 0), t));
    expand_to(n, make_cast(n, y, to));
}

/* Is it certain that nothing is dropped? Before version 7 the mode was training unless is_test was set; from 7 to 11
 * there was only inference; since 12 it is an input. */
static bool drops_nothing(const Node *n)
{
    if (n->op->since_version < 7)
        return attr_int(n, "is_test") != 0 || attr_float(n, "ratio") == 0;
    return n->op->since_version < 12 || !in(n, 2) || (in_is_const(n, 2) && !tensor_get_int(n->in[2]->data, 0)) ||
           in_float(n, 1, 0.5) == 0;
}

/* In training, each element becomes 0 with the probability `ratio`; the others are scaled by 1 / (1 - ratio). */
static void drop(Node *n, Value **y, Value **kept)
{
    Type t = in_type(n, 0), wide = t == F64 ? F64 : F32;
    Value *one = make_scalar(n, wide, 1), *zero = make_scalar(n, wide, 0),
          *training = n->op->since_version < 12 ? NULL : in(n, 2);
    Value *ratio = n->op->since_version < 12 ? make_scalar(n, wide, attr_float(n, "ratio"))
                   : in(n, 1)                ? make_cast(n, in(n, 1), wide)
                                             : make_scalar(n, wide, 0.5);
    if (training)
        ratio = make(n, "Where", 3, training, ratio, zero);
    Value *scale = make(n, "Div", 2, one, make(n, "Sub", 2, one, ratio));
    *kept = make(n, "GreaterOrEqual", 2, drawn(n, "onnxcc.RandomUniform", make(n, "Shape", 1, in(n, 0)), wide, NULL),
                 ratio);
    *y = make(n, "Where", 3, *kept, make(n, "Mul", 2, make_cast(n, in(n, 0), wide), scale), zero);
    *y = make_cast(n, *y, t);
}

static void dropout_expand(Node *n)
{
    double ratio = n->op->since_version < 12 ? attr_float(n, "ratio") : 0;
    if (!(ratio >= 0 && ratio < 1))
        node_error(n, "ratio is %g, not from 0 to below 1", ratio);
    if (!(ratio >= 0 && ratio < 1) || (n->op->since_version >= 12 && (!require_one(n, 1) || !require_one(n, 2))))
        return;
    if (n->op->since_version >= 12 && in(n, 1)) {
        bool small = type_bits(in_type(n, 1)) < 16; /* 8-bit numbers are compared as floats */
        Value *given = small ? inferred(make_cast(n, n->in[1], F32)) : n->in[1];
        node_set_in(n, 1, inferred(make_within(n, given, 0, D(1), true)));
    }
    Type mask_type = n->op->since_version < 10 ? in_type(n, 0) : B8;
    Value *y, *kept;
    if (drops_nothing(n)) {
        y = make(n, "Identity", 1, in(n, 0));
        kept = make(n, "ConstantOfShape", 1, make(n, "Shape", 1, in(n, 0)));
        attr_set(kept->def, (Attr){.name = name("value"), .type = A_TENSOR, .t = tensor_int(B8, 1)});
    } else
        drop(n, &y, &kept);
    if (out(n, 1))
        replace_out(n, 1, mask_type == B8 ? kept : make_cast(n, kept, mask_type));
    expand_to(n, y);
}

#define OF_SHAPE(name, attrs)                                                                                          \
    {name, 22, "-> output:T", "T=FB", "dtype:int=1 seed:float? shape:ints " attrs, .expand = random_expand,            \
     .compatible = "1 T=F"}
#define LIKE(name, attrs)                                                                                              \
    {name, 22, "input:T1 -> output:T2", "T1=ALLB T2=FB", "dtype:int? seed:float? " attrs, .expand = random_expand,      \
     .compatible = "1 T1=ALL T2=F"}
#define ENDS "high:float=1 low:float=0"
#define MOMENTS "mean:float=0 scale:float=1"
#define DROPOUT_OLD(version, mask, attrs)                                                                                \
    {"Dropout", version, "data:T -> output:T mask?:" mask, "T=F", "ratio:float=0.5" attrs, .expand = dropout_expand}

static const Op random_ops[] = {
    OF_SHAPE("RandomUniform", ENDS),
    OF_SHAPE("RandomNormal", MOMENTS),
    LIKE("RandomUniformLike", ENDS),
    LIKE("RandomNormalLike", MOMENTS),
    {"RandomUniform", 1, "shape:int64 generator?:uint64 -> y:T", "T=FB", "dtype:int key:int seeded:int " ENDS,
     .infer = random_infer, .bind = uniform_bind, .flags = RANDOM, .domain = "onnxcc"},
    {"RandomNormal", 1, "shape:int64 generator?:uint64 -> y:T", "T=FB", "dtype:int key:int seeded:int " MOMENTS,
     .infer = random_infer, .bind = normal_bind, .flags = RANDOM, .domain = "onnxcc"},
    {"Multinomial", 22, "input:T1 -> output:T2", "T1=FB T2=int32|int64", "dtype:int=6 sample_size:int=1 seed:float?",
     .expand = multinomial_expand, .compatible = "7 T1=F"},
    {"Multinomial", 1, "input:T1 generator?:uint64 -> output:T2", "T1=FB T2=int32|int64",
     "dtype:int sample_size:int key:int seeded:int", .infer = multinomial_infer, .bind = multinomial_bind,
     .flags = RANDOM, .domain = "onnxcc"},
    {"Bernoulli", 22, "input:T1 -> output:T2", "T1=FB T2=NB|bool", "dtype:int? seed:float?", .expand = bernoulli_expand,
     .compatible = "15 T1=F"},
    {"Dropout", 22, "data:T ratio?:T1 training_mode?:T2 -> output:T mask?:T2", "T=FB|F8 T1=FB|F8 T2=bool", "seed:int?",
     .expand = dropout_expand, .compatible = "13 T=FB T1=F; 12 T=F T1=F"},
    DROPOUT_OLD(10, "bool", ""),
    DROPOUT_OLD(7, "T", ""),
    DROPOUT_OLD(6, "T", " is_test:int=0"),
    DROPOUT_OLD(1, "T", " consumed_inputs:ints? is_test:int=0"),
};
OPS(random_ops);
