/* text.c - StringConcat, StringSplit, StringNormalizer, RegexFullMatch, Tokenizer, Equal of strings, and casts to and
 * from them. */
#include "base/options.h"
#include "base/regex.h"
#include "ir/spatial.h"
#include "passes/container.h"
#include "passes/passes.h"
#include "decimal.h"
#include "text.h"
#include "texts.h"
#include "tokenize.h"

/* ---- bounds of strings ------------------------------------------------------------------------------------------- */

static int64_t constant_text(const Tensor *t)
{
    int64_t max = 0, n = t->splat ? 1 : tensor_count(t);
    for (int64_t i = 0; i < n; i++)
        if (tensor_get_str(t, i)->n > max)
            max = tensor_get_str(t, i)->n;
    return max;
}

/* known: value -> its bound + 1, so that a value on several ways is asked once. */
static int64_t bound_of(const Value *v, Map *known)
{
    if (v->data)
        return constant_text(v->data);
    if (v->input >= 0)
        return dim_high(dim_resolve(dim_symbol(symbol_by_name(name_format("%s_text", v->name->s)))));
    if (v->text || !v->def)
        return v->text ? v->text : INT64_MAX;
    const uint64_t before = (uintptr_t)map_get(known, v);
    if (before)
        return (int64_t)(before - 1);
    int64_t max = v->def->n_in || v->def->n_attr ? 0 : INT64_MAX;
    for (int i = 0; i < v->def->n_in; i++)
        if (v->def->in[i] && v->def->in[i]->type == STR) {
            const int64_t given = bound_of(v->def->in[i], known);
            max = given > max ? given : max;
        }
    for (int i = 0; i < v->def->n_attr; i++) /* the results of branches, or of the last iteration */
        if (v->def->attr[i].g) {
            const Graph *g = v->def->attr[i].g;
            const int64_t inside = bound_of(g->out.at[v->def_i + name_is(v->def->attr[i].name, "body")], known);
            max = inside > max ? inside : max;
        }
    map_put(known, v, (void *)(uintptr_t)((uint64_t)max + 1));
    return max;
}

int64_t text_bound(const Value *v)
{
    Map known = {0};
    const int64_t max = bound_of(v, &known);
    map_free(&known);
    return max;
}

/* The value that v is computed from, or the initial value of a loop's state; NULL: an input. */
static const Value *where_from(const Value *v)
{
    if (v->input >= 0 || (v->def && v->def->n_in))
        return v->input >= 0 ? NULL : v->def->in[0];
    for (int i = 2; v->graph->owner && i < v->graph->in.n; i++)
        if (v->graph->in.at[i] == v)
            return in(v->graph->owner, i);
    return NULL;
}

int64_t require_text_bound(Node *n, int i)
{
    const Value *v = in(n, i);
    int64_t max = text_bound(v);
    if (max < INT64_MAX)
        return max;
    for (const Value *of = v; of; of = where_from(of))
        v = of;
    error_node(n, "SHP-11", "the length of the strings of '%s' has no bound", printable(v->name));
    if (v->input >= 0)
        note_help("give a bound, in bytes: --dim '%s_text<=64'", printable(option_quoted(v->name)));
    return -1;
}

/* The symbol of the iteration's number if g is the body of a loop; else NULL. */
static Symbol *iteration_of(const Graph *g)
{
    return g->owner && node_attr(g->owner, "body") ? symbol_of(value_dim(g->in.at[0], 0)) : NULL;
}

bool make_text_output(Node *n, int i, Dim bytes)
{
    for (const Graph *g = n->graph; g; g = g->parent) {
        Symbol *iteration = iteration_of(g);
        if (iteration && iteration->high == INT64_MAX) {
            error_node(n, "SHP-11", "strings are made in a loop of unknown trip count");
            note_help("give it a bound, --dim '%s<=64'",
                      in(g->owner, 0) ? printable(option_quoted(g->owner->in[0]->name)) : "trips");
            return false;
        }
        if (iteration)
            bytes = dim_mul(D(dim_high(bytes)), D(iteration->high < 0 ? 1 : iteration->high + 1));
    }
    Value **out = NEWS(Value *, i + 1);
    memcpy(out, n->out, sizeof *out * (size_t)(n->n_out < i ? n->n_out : i));
    if (n->n_out <= i) {
        n->out = out;
        n->n_out = i + 1;
        node_set_out(n, i, value_new(n->graph, name("text")))->persistent = true;
    }
    set_out(n, i, U8, shape_list(1, bytes));
    return true;
}

void text_place(const Node *n, Dim *at, Dim *max)
{
    Dim part = shape_count(*n->out[1]->shape);
    *at = D(0);
    for (const Graph *g = n->graph; g; g = g->parent) {
        Symbol *iteration = iteration_of(g);
        if (iteration) {
            part = dim_div(part, D(iteration->high < 0 ? 1 : iteration->high + 1));
            *at = dim_add(*at, dim_mul(dim_symbol(iteration), part));
        }
    }
    *max = dim_add(*at, part);
}

/* ---- StringConcat, Equal ----------------------------------------------------------------------------------------- */

bool infer_same_shapes(Node *n)
{
    int errors = error_count();
    infer_broadcast(n);
    if (error_count() > errors)
        return false;
    Shape y = *out(n, 0)->shape;
    for (int i = 0; i < n->n_in; i++)
        if (!shape_identical(in_shape(n, i), y))
            node_set_in(n, i, inferred(make(n, "Expand", 2, in(n, i), make_dims(n, y.rank, y.dim))));
    return true;
}

static void concat_infer(Node *n)
{
    int64_t a = require_text_bound(n, 0), b = require_text_bound(n, 1);
    if (a < 0 || b < 0 || !infer_same_shapes(n))
        return;
    Shape y = in_shape(n, 0);
    set_out(n, 0, STR, y);
    n->out[0]->text = a + b;
    make_text_output(n, 1, dim_mul(shape_count(y), D(a + b)));
}

static void concat_bind(Node *n)
{
    Dim at, max;
    text_place(n, &at, &max);
    BIND(n, text_join, .count = shape_count(*n->out[0]->shape), .at = at, .upper = max);
}

static void equal_infer(Node *n)
{
    if (infer_same_shapes(n))
        set_out(n, 0, B8, in_shape(n, 0));
}

static void equal_bind(Node *n) { BIND(n, text_equal, .count = shape_count(in_shape(n, 0))); }

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* The bits of precision of the floating-point type t, and the exponent of its lowest bit, for conversions from and to
 * text. */
static void precision(Type t, Dim *bits, Dim *low)
{
    *bits = D(t == F32 ? 24 : t == F16 ? 11 : t == BF16 ? 8 : 53);
    *low = D(t == F32 ? -149 : t == F16 ? -24 : t == BF16 ? -133 : -1074);
}

static void print_infer(Node *n)
{
    Type t = in_type(n, 0);
    int64_t max = t == F64 ? 24 : 20;
    if (!make_text_output(n, 1, dim_mul(shape_count(in_shape(n, 0)), D(max))))
        return;
    set_out(n, 0, STR, in_shape(n, 0));
    n->out[0]->text = max;
}

static void print_bind(Node *n)
{
    struct text_print_bind p = {.count = shape_count(in_shape(n, 0))};
    text_place(n, &p.at, &p.upper);
    precision((Type)attr_int(n, "type"), &p.bits, &p.low);
    bind_kernel(n, "text_print", in_type(n, 0), NO_TYPE, text_print_fields(), &p, NULL, 0);
}

static void read_infer(Node *n) { set_out(n, 0, (Type)attr_int(n, "wide"), in_shape(n, 0)); }

static void read_bind(Node *n)
{
    struct text_read_bind p = {.count = shape_count(in_shape(n, 0))};
    precision((Type)attr_int(n, "type"), &p.bits, &p.low);
    bind_kernel(n, "text_read", out(n, 0)->type, NO_TYPE, text_read_fields(), &p, NULL, 0);
}

/* ---- StringNormalizer -------------------------------------------------------------------------------------------- */

static Value *string_list(Node *n, int k, const Name *s)
{
    Tensor *t = tensor_new(STR, 1, (int64_t[]){k});
    for (int i = 0; i < k; i++)
        tensor_set_str(t, i, s[i]);
    return value_const(n->graph, t);
}

static int case_change(Node *n)
{
    static const char *const actions[] = {"LOWER", "NONE", "UPPER", NULL};
    return attr_choice(n, "case_change_action", actions) - 1;
}

static void normalizer_infer(Node *n)
{
    Shape y = in_shape(n, 0);
    if (!(y.rank == 1 || (y.rank == 2 && dim_is(y.dim[0], 1)))) {
        node_error(n, "the input is %s; [C] and [1,C] are possible", shape_text(y));
        return;
    }
    int errors = error_count();
    bool changes = case_change(n);
    int64_t max = changes ? require_text_bound(n, 0) : 0;
    if (error_count() > errors)
        return;
    Dim count = y.dim[y.rank - 1];
    const Name *stop;
    int k = attr_strings(n, "stopwords", &stop);
    if (n->n_in == 1) {
        Value *both[] = {in(n, 0), string_list(n, k < 0 ? 0 : k, stop)};
        node_set_inputs(n, 2, both);
    }
    Dim max_count = dim_max(count, D(1)); /* without a string there is an empty one */
    y.dim[y.rank - 1] = k > 0 ? reported_size(n, 0, NULL, max_count) : max_count;
    set_out(n, 0, STR, y);
    n->out[0]->text = max;
    make_text_output(n, 1, dim_mul(count, D(max)));
}

static void normalizer_bind(Node *n)
{
    Dim count = shape_count(in_shape(n, 0)), at, max;
    text_place(n, &at, &max);
    BIND(n, text_normal, .count = count, .stops = shape_count(in_shape(n, 1)),
         .fold = D(!attr_int(n, "is_case_sensitive")), .change = D(case_change(n)), .at = at, .upper = max,
         .room = dim_max(count, D(1)));
    bind_reported(n);
}

/* ---- StringSplit ------------------------------------------------------------------------------------------------- */

static void split_infer(Node *n)
{
    Shape y = in_shape(n, 0);
    const Attr *mark = node_attr(n, "delimiter"), *limit = node_attr(n, "maxsplit");
    if (y.rank == MAX_RANK || (limit && limit->i < 0)) {
        node_error(n, limit ? "maxsplit is negative" : "the input has too many dimensions");
        return;
    }
    int64_t pieces = limit && limit->i < INT64_MAX ? limit->i + 1 : INT64_MAX;
    int64_t text = text_bound(in(n, 0)), size = mark ? mark->s->n : 0;
    if (text < INT64_MAX || !limit) {
        text = require_text_bound(n, 0);
        int64_t max = size ? text / size + 1 : (text + 1) / 2;
        pieces = max < pieces ? max : pieces;
    }
    if (text < 0)
        return;
    if (n->n_in == 1) {
        Value *both[] = {in(n, 0), string_list(n, 1, (Name[]){mark ? mark->s : name("")})};
        node_set_inputs(n, 2, both);
    }
    set_out(n, 1, I64, y);
    y.dim[y.rank++] = reported_size(n, 0, NULL, D(pieces));
    set_out(n, 0, STR, y);
}

static void split_bind(Node *n)
{
    const Attr *limit = node_attr(n, "maxsplit");
    Shape y = *n->out[0]->shape;
    BIND_ARGS(n, text_split, STR, NO_TYPE, ARGS(in(n, 0), in(n, 1), out(n, 0), out(n, 1)),
              .count = shape_count(in_shape(n, 0)), .pieces = D(limit && limit->i < INT32_MAX ? limit->i + 1 : 0),
              .upper = reported_room(y.dim[y.rank - 1]));
    bind_reported(n);
}

/* ---- regular expressions ----------------------------------------------------------------------------------------- */

static bool pattern_works(Node *n, Name pattern, const Regex *r)
{
    return !r->error || node_error(n, "the pattern '%s' has %s, at byte %d", printable(pattern), r->error, r->at);
}

static void regex_expand(Node *n)
{
    const Attr *a = node_attr(n, "pattern");
    Name pattern = a ? a->s : name("");
    Regex r = regex_compile(pattern);
    if (!pattern_works(n, pattern, &r))
        return;
    Tensor *table = tensor_new(U16, 1, (int64_t[]){r.entries});
    memcpy((void *)(uintptr_t)table->data, r.table, tensor_size(table));
    Value *y = make(n, "onnxcc.Match", 2, in(n, 0), value_const(n->graph, table));
    attr_set_ints(y->def, "automaton", 3, (int64_t[]){r.classes, r.start, r.accept});
    expand_to(n, y);
}

static void match_infer(Node *n) { set_out(n, 0, B8, in_shape(n, 0)); }

static void match_bind(Node *n)
{
    const int64_t *a;
    attr_ints(n, "automaton", &a);
    BIND(n, text_match, .count = shape_count(in_shape(n, 0)), .classes = D(a[0]), .start = D(a[1]), .accept = D(a[2]));
}

/* The automata of Tokenizer, one after another, and the numbers of each. */
typedef struct Automata {
    VEC(uint16_t) table;
    VEC(int32_t) heads;
} Automata;

static bool add_automaton(Node *n, Name pattern, Automata *a)
{
    Regex r = regex_compile_search(pattern);
    if (!pattern_works(n, pattern, &r))
        return false;
    int32_t head[TOKEN_HEAD] = {[TOKEN_TABLE] = a->table.n, [TOKEN_CLASSES] = r.classes, [TOKEN_DEAD] = r.dead};
    for (int i = 0; i < 4; i++)
        head[TOKEN_START + i] = r.start_after[i];
    for (int i = 0; i < TOKEN_HEAD; i++)
        vec_push(&a->heads, head[i]);
    for (int i = 0; i < r.entries; i++)
        vec_push(&a->table, r.table[i]);
    return true;
}

/* The patterns of n; *keep: they match tokens, not separators. An empty separator and the tokenexp "." make every
 * character a token. NULL: wrong, reported. */
static const Name *patterns_of(Node *n, int *k, bool *keep)
{
    const Name *p;
    int64_t min = attr_int(n, "mincharnum");
    const Attr *of = node_attr(n, "tokenexp");
    *k = attr_strings(n, "separators", &p);
    *keep = *k < 1;
    bool each = *keep ? of && name_is(of->s, ".") : *k == 1 && !p[0]->n;
    if (min < 1)
        node_error(n, "mincharnum is %lld: tokens have at least one character", (long long)min);
    else if (*keep && !(of && of->s->n))
        node_error(n, "there are neither separators nor a tokenexp");
    else if (each && min > 1)
        node_error(n, "mincharnum is %lld, but every character is a token", (long long)min);
    else if (!*keep && !each)
        return p;
    else {
        Name *one = NEW_COPY((Name){each ? name("(?s:.)") : of->s});
        *keep = true;
        *k = 1;
        return one;
    }
    return NULL;
}

static void tokenizer_expand(Node *n)
{
    int k;
    bool keep;
    Automata a = {0};
    Shape x = in_shape(n, 0);
    const Name *p = patterns_of(n, &k, &keep);
    if (x.rank < 1 || x.rank > 2)
        node_error(n, "the input is %s; [C] and [N,C] are possible", shape_text(x));
    for (int i = 0; p && i < k; i++)
        if (!add_automaton(n, p[i], &a))
            return;
    if (!p || x.rank < 1 || x.rank > 2)
        return;
    Tensor *heads = tensor_new(I32, 1, (int64_t[]){a.heads.n}), *table = tensor_new(U16, 1, (int64_t[]){a.table.n});
    memcpy((void *)(uintptr_t)heads->data, a.heads.at, tensor_size(heads));
    memcpy((void *)(uintptr_t)table->data, a.table.at, tensor_size(table));
    Value *words = string_list(n, 3, (Name[]){node_attr(n, "pad_value")->s, name("\x02"), name("\x03")});
    Value *y =
        make(n, "onnxcc.Tokenize", 4, in(n, 0), words, value_const(n->graph, heads), value_const(n->graph, table));
    with_int(with_int(y, "keep", keep), "mincharnum", attr_int(n, "mincharnum"));
    expand_to(n, with_int(y, "mark", attr_int(n, "mark") != 0));
}

static void tokenize_infer(Node *n)
{
    Shape y = in_shape(n, 0);
    int64_t text = require_text_bound(n, 0), min = attr_int(n, "mincharnum");
    if (text < 0)
        return;
    int64_t tokens = min > text ? 0 : attr_int(n, "keep") ? text / min : (text + 1) / (min + 1);
    y.dim[y.rank++] = reported_size(n, 0, NULL, D(tokens + (tokens && attr_int(n, "mark") ? 2 : 0)));
    set_out(n, 0, STR, y);
}

static void tokenize_bind(Node *n)
{
    Shape y = *n->out[0]->shape;
    int64_t text = require_text_bound(n, 0), min = attr_int(n, "mincharnum");
    Dim levels = dim_div(shape_count(in_shape(n, 2)), D(TOKEN_HEAD));
    BIND_ARGS(n, tokenize, STR, NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), in(n, 3), out(n, 0)),
              .count = shape_count(in_shape(n, 0)), .levels = levels, .keep = D(attr_int(n, "keep")),
              .min_characters = D(min > text ? text + 1 : min), .mark = D(attr_int(n, "mark")),
              .upper = reported_room(y.dim[y.rank - 1]));
    bind_scratch(n, dim_mul(levels, D(sizeof(rt_rest))));
    bind_reported(n);
}

static const Op text_ops[] = {
    {"StringConcat", 20, "X:T Y:T -> Z:T", "T=string", "", .infer = concat_infer, .bind = concat_bind},
    {"StringNormalizer", 10, "X:string -> Y:string", NULL,
     "case_change_action:string=NONE is_case_sensitive:int=0 locale:string? stopwords:strings?",
     .infer = normalizer_infer, .bind = normalizer_bind, .flags = NOFOLD},
    {"StringSplit", 20, "X:T1 -> Y:T2 Z:T3", "T1=string T2=string T3=int64", "delimiter:string? maxsplit:int?",
     .infer = split_infer, .bind = split_bind, .flags = NOFOLD},
    {"RegexFullMatch", 20, "X:T1 -> Y:T2", "T1=string T2=bool", "pattern:string?", .expand = regex_expand},
    {"Tokenizer", 1, "X:T -> Y:T", "T=string",
     "mark:int mincharnum:int pad_value:string separators:strings? tokenexp:string?", .expand = tokenizer_expand,
     .domain = "com.microsoft"},
    {"Tokenize", 1, "x:string words:string heads:int32 table:uint16 -> y:string", NULL,
     "keep:int mincharnum:int mark:int", .infer = tokenize_infer, .bind = tokenize_bind, .flags = NOFOLD | STOPS,
     .domain = "onnxcc"},
    {"Match", 1, "x:string table:uint16 -> y:bool", NULL, "automaton:ints", .infer = match_infer, .bind = match_bind,
     .domain = "onnxcc"},
    {"Equal", 1, "a:string b:string -> y:bool", NULL, "", .infer = equal_infer, .bind = equal_bind, .domain = "onnxcc"},
    {"Print", 1, "x:double|int64|uint64 -> y:string", NULL, "type:int", .infer = print_infer, .bind = print_bind,
     .domain = "onnxcc"},
    {"Read", 1, "x:string -> y:double|int64|uint64", NULL, "type:int wide:int", .infer = read_infer, .bind = read_bind,
     .flags = STOPS, .domain = "onnxcc"},
};
OPS(text_ops);
