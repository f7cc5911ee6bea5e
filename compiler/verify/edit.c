/* edit.c - a copy of the model's file with more outputs, for ONNX Runtime: bytes are appended to messages, and all
 * others are kept. A tensor inside of nodes becomes a result of each node around it, as by passes/taps.c. */
#include "verify/verify.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emit/eval.h"
#include "ir/opset.h"
#include "read/wire.h"

/* ---- what is added ----------------------------------------------------------------------------------------------- */

/* Bytes to append to messages, by path: "/7.0/1.3" is element 3 of field 1, in element 0 of the model's field 7. */
typedef struct Edit {
    const Model *m;
    Map text;    /* Name -> Text; messages that contain others are there, too */
    Map results; /* Node, Graph, Function -> how many results it has now */
    int names;
} Edit;

static Text *end_of(Edit *e, const char *path)
{
    for (const char *s = path; (s = strchr(s, '/')) != NULL; s++) {
        Name outer = name_bytes(path, (size_t)(s - path));
        if (!map_get(&e->text, outer))
            map_put(&e->text, outer, NEW(Text));
    }
    if (!map_get(&e->text, name(path)))
        map_put(&e->text, name(path), NEW(Text));
    return map_get(&e->text, name(path));
}

static void put_message(Text *t, const char *tag, const Text *message)
{
    put_field(t, tag, message->n);
    text_bytes(t, message->s, message->n);
}

static void put_string(Text *t, const char *tag, Name s)
{
    put_field(t, tag, s->n);
    text_bytes(t, s->s, s->n);
}

/* The index of a new result of p, a node, graph or function that has n results in the file. */
static int result_index(Edit *e, const void *p, int n)
{
    const intptr_t now = (intptr_t)map_get(&e->results, p);
    map_put(&e->results, p, (void *)((now ? now : n + 1) + 1));
    return (int)(now ? now - 1 : n);
}

static const char *graph_path(const Edit *e, const InnerTensor *t, int depth);

/* The path of the node of step i, and of the graph or function that the step enters. */
static const char *node_of(const Edit *e, const InnerTensor *t, int i)
{
    const bool function = i && t->step[i - 1].call;
    return text_format("%s/%d.%d", graph_path(e, t, i), function ? 7 : 1, t->step[i].node->source->index);
}

static const char *attr_path(const char *node, const Node *n, const char *attr)
{
    return text_format("%s/5.%d", node, (int)(node_attr(n, attr) - n->attr));
}

static const char *graph_path(const Edit *e, const InnerTensor *t, int depth)
{
    const TapStep *s = &t->step[depth - 1];
    int k = 0;
    if (!depth)
        return "/7.0";
    if (!s->call)
        return text_format("%s/6.0", attr_path(node_of(e, t, depth - 1), s->node, s->attr->s));
    while (e->m->functions.at[k] != s->call)
        k++;
    return text_format("/25.%d", k);
}

/* ValueInfoProto.type = 2: a tensor's, without the first dimensions of t; -1: without a shape. */
static void put_type(Text *info, const Tensor *t, int without)
{
    Text shape = {0}, tensor = {0}, type = {0};
    for (int k = without; k >= 0 && k < t->rank; k++) {
        Text dim = {0};
        put_field(&dim, "\x08", (uint64_t)t->dim[k]); /* dim_value = 1 */
        put_message(&shape, "\x0a", &dim);
    }
    put_field(&tensor, "\x08", (uint64_t)t->type); /* elem_type = 1, shape = 2 */
    if (without >= 0)
        put_message(&tensor, "\x12", &shape);
    put_message(&type, "\x0a", &tensor); /* tensor_type = 1 */
    put_message(info, "\x12", &type);
}

/* GraphProto.output or FunctionProto.output; of: NULL: its type is inferred. */
static void add_output(Edit *e, const char *graph, bool function, Name n, const Tensor *of, int without)
{
    Text info = {0};
    put_string(&info, "\x0a", n); /* ValueInfoProto.name = 1 */
    if (of)
        put_type(&info, of, without);
    if (function)
        put_string(end_of(e, graph), "\x2a", n);
    else
        put_message(end_of(e, graph), "\x62", &info);
}

static Name new_name(Edit *e) { return name_format("onnxcc:%d", e->names++); }

/* The number of dimensions of the model's output that count iterations of loops around the node of step i. */
static int dims_outside(const InnerTensor *t, int i)
{
    int dims = 0;
    for (int k = 0; k < i; k++)
        dims += step_dims(&t->step[k]);
    return dims;
}

/* Makes `inner` an output of the graph or function that step i enters, and one of the node; returns its name there.
 * like: the model's output. A body that ONNX Runtime does not infer by itself needs the type. */
static Name add_result(Edit *e, const InnerTensor *t, int i, Name inner, const Data *like)
{
    static const char *const list[] = {"scan_output_axes", "scan_output_directions"};
    const TapStep *s = &t->step[i];
    const Graph *g = step_graph(s);
    const void *const of = s->call ? (const void *)s->call : g;
    const int at = result_index(e, of, s->call ? s->call->out.n : g->out.n - (s->kind == INTO_LOOP));
    const char *const node = node_of(e, t, i);
    Text *const results = end_of(e, node);
    const Name outer = new_name(e);
    add_output(e, graph_path(e, t, i + 1), s->call != NULL, inner,
               s->kind == INTO_SCAN                                         ? like->t
               : s->kind == INTO_OTHER && like->form == SEQUENCE && like->n ? like->item[0].t
                                                                            : NULL,
               s->kind == INTO_SCAN ? dims_outside(t, i + 1) : -1);
    while (result_index(e, s->node, s->node->n_out) < at)
        put_string(results, "\x12", new_name(e)); /* NodeProto.output = 2 */
    put_string(results, "\x12", outer);
    for (int k = 0; k < 2 && s->kind == INTO_SCAN; k++)
        if (node_attr(s->node, list[k]))
            put_field(end_of(e, attr_path(node, s->node, list[k])), "\x40", 0); /* AttributeProto.ints = 8 */
    return outer;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* The rest of a node is op_type = 4, and attribute = 5. */
static void add_node(Edit *e, const char *graph, bool function, Name in, Name out, const char *rest, size_t n_rest)
{
    Text node = {0};
    if (in)
        put_string(&node, "\x0a", in);
    put_string(&node, "\x12", out);
    text_bytes(&node, rest, n_rest);
    put_message(end_of(e, graph), function ? "\x3a" : "\x0a", &node);
}

/* A node that makes a constant; its attribute is a tensor. */
static void add_constant(Edit *e, const char *graph, Name out, const Tensor *t)
{
    static const char op[] = "\42\10Constant", attr[] = "\x0a\x05value\xa0\x01\x04"; /* of type 20: a tensor */
    Text tensor = {0}, attribute = {0}, rest = {0};
    put_tensor_proto(&tensor, t);
    text_bytes(&attribute, attr, sizeof attr - 1);
    put_message(&attribute, "\x2a", &tensor);
    text_bytes(&rest, op, sizeof op - 1);
    put_message(&rest, "\x2a", &attribute);
    add_node(e, graph, false, NULL, out, rest.s, rest.n);
}

static void add_empty_sequence(Edit *e, const char *graph, Name out, Type t)
{
    static const char op[] = "\42\15SequenceEmpty", attr[] = "\x0a\x05"
                                                             "dtype\xa0\x01\x02"; /* an integer */
    Text attribute = {0}, rest = {0};
    text_bytes(&attribute, attr, sizeof attr - 1);
    put_field(&attribute, "\x18", (uint64_t)t);
    text_bytes(&rest, op, sizeof op - 1);
    put_message(&rest, "\x2a", &attribute);
    add_node(e, graph, false, NULL, out, rest.s, rest.n);
}

/* ---- tensors inside of nodes ------------------------------------------------------------------------------------- */

/* Adds the other branch's result for the tensor of step i: zeros of the shape that the C has. */
static void add_nothing(Edit *e, const InnerTensor *t, int i, Name n, const Data *like)
{
    const TapStep *s = &t->step[i];
    const char *const branch = name_is(s->attr, "then_branch") ? "else_branch" : "then_branch";
    const char *const other = text_format("%s/6.0", attr_path(node_of(e, t, i), s->node, branch));
    const int outside = dims_outside(t, i);
    if (like->form == TENSOR)
        add_constant(e, other, n, tensor_new(like->t->type, like->t->rank - outside, like->t->dim + outside));
    else
        add_empty_sequence(e, other, n, like->item[0].t->type);
    add_output(e, other, false, n, NULL, 0);
}

/* Makes the tensor an output of the model or, with `given`, a bool that tells whether its branch ran. Returns its
 * name. */
static Name add_inner(Edit *e, const InnerTensor *t, const Data *like, bool given)
{
    static const char identity[] = "\x22\x08Identity";
    Name n = NULL;
    if (!given)
        add_node(e, graph_path(e, t, t->n), t->step[t->n - 1].call != NULL, t->value->name, n = new_name(e), identity,
                 sizeof identity - 1);
    for (int i = t->n - 1; i >= 0; i--) {
        const bool branch = t->step[i].kind == INTO_BRANCH;
        if (!n && branch)
            add_constant(e, graph_path(e, t, i + 1), n = new_name(e), tensor_int(B8, 1));
        if (!n)
            continue;
        const Name inner = n;
        n = add_result(e, t, i, inner, like);
        if (branch)
            add_nothing(e, t, i, inner, like);
    }
    add_output(e, graph_path(e, t, 0), false, n, NULL, 0);
    return n;
}

static bool can_be_like(const Data *d, const InnerTensor *t)
{
    return d && (!t->given || d->form == TENSOR || (d->form == SEQUENCE && d->n && d->item[0].form == TENSOR));
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* A field of a message: its first byte, and if it has a length its contents. */
typedef struct FileField {
    const uint8_t *at;
    Span of;
    const char *path; /* of these contents; NULL: nothing is added to them */
} FileField;

typedef struct FileFields {
    const Edit *e;
    const char *path;
    Span left;
    int count[32]; /* of each field so far */
} FileFields;

static bool next_field(FileFields *f, FileField *to)
{
    enum { VARINT, EIGHT_BYTES, WITH_LENGTH, FOUR_BYTES = 5 };
    Span *b = &f->left;
    if (!b->n)
        return false;
    *to = (FileField){.at = b->at};
    const uint64_t tag = wire_next(b), kind = tag & 7;
    uint64_t n = kind == EIGHT_BYTES ? 8 : kind == FOUR_BYTES ? 4 : kind == VARINT ? 0 : wire_next(b);
    if (kind == VARINT)
        wire_next(b);
    n = n < b->n ? n : b->n;
    to->of = (Span){b->at, (size_t)n};
    *b = (Span){b->at + n, b->n - (size_t)n};
    if (kind != WITH_LENGTH || tag >> 3 >= sizeof f->count / sizeof *f->count)
        return true;
    const char *const path = text_format("%s/%d.%d", f->path, (int)(tag >> 3), f->count[tag >> 3]++);
    if (map_get(&f->e->text, name(path)))
        to->path = path;
    return true;
}

/* The size of a message with what is appended to it. */
static size_t size_with(const Edit *e, Span of, const char *path)
{
    const Text *more = map_get(&e->text, name(path));
    FileFields f = {e, path, of, {0}};
    size_t n = of.n + more->n;
    for (FileField field; next_field(&f, &field);) {
        if (!field.path)
            continue;
        Text before = {0}, after = {0};
        const size_t old = field.of.n, now = size_with(e, field.of, field.path);
        put_field(&before, "", old);
        put_field(&after, "", now);
        n += now - old + after.n - before.n;
    }
    return n;
}

static void write_with(const Edit *e, FILE *to, Span of, const char *path)
{
    const Text *more = map_get(&e->text, name(path));
    FileFields f = {e, path, of, {0}};
    for (FileField field; next_field(&f, &field);) {
        const TextMark mark = text_mark();
        if (field.path) {
            Text head = {0};
            Span tag = {field.at, (size_t)(field.of.at - field.at)};
            wire_next(&tag);
            text_bytes(&head, field.at, (size_t)(tag.at - field.at) - 1);
            put_field(&head, (const char *)tag.at - 1, size_with(e, field.of, field.path));
            fwrite(head.s, 1, head.n, to);
            write_with(e, to, field.of, field.path);
        } else
            fwrite(field.at, 1, (size_t)(field.of.at - field.at) + field.of.n, to);
        text_release(mark);
    }
    fwrite(more->s, 1, more->n, to);
}

static void write_edited(const Edit *e, const char *path, const char *model)
{
    struct stat s;
    const int fd = open(model, O_RDONLY | O_CLOEXEC);
    void *at = fd >= 0 && !fstat(fd, &s) && s.st_size ? mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                                                      : MAP_FAILED;
    FILE *to = fopen(path, "wbe");
    if (at == MAP_FAILED || !to)
        fail(EXIT_IO, "%s: cannot write %s", model, path);
    write_with(e, to, (Span){at, (size_t)s.st_size}, "");
    const bool bad = ferror(to);
    if (fclose(to) || bad)
        fail(EXIT_IO, "%s: cannot write", path);
    munmap(at, (size_t)s.st_size);
    close(fd);
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

static bool is_output(const Model *m, Name n)
{
    for (int i = 0; i < m->graph->out.n; i++)
        if (m->graph->out.at[i]->name == n)
            return true;
    return false;
}

/* Makes n an output; like: the C's output, whose type and shape a tensor inside of nodes gets. Returns its name; "":
 * none. */
static Name add_fetched(Edit *e, InnerTensors *inner, const Names *last, Name n, const Data *like)
{
    int count;
    EACH_OF (l, *last)
        if (l == n)
            return name("");
    if (map_get(&e->m->graph->scope, n)) {
        if (!is_output(e->m, n))
            add_output(e, "/7.0", false, n, NULL, 0);
        return n;
    }
    const InnerTensor *t = inner_tensor_named(e->m, inner, n, &count);
    const bool given = !t;
    for (int i = 0; !t && i < inner->n; i++) /* is n the `given` of a tensor that was listed before? */
        t = inner->at[i].given == n ? &inner->at[i] : NULL;
    return t && can_be_like(like, t) ? add_inner(e, t, like, given) : name("");
}

/* Gives the calls in g, and in graphs in it, as many results as their functions have now: ONNX Runtime's inference
 * needs them. */
static void add_missing_results(Edit *e, const Graph *g, const char *path)
{
    for (const Node *n = g->first; n; n = n->next) {
        const char *const node = text_format("%s/%d.%d", path, g->function ? 7 : 1, n->source->index);
        const Function *f = n->op ? NULL : find_function(e->m, n);
        const intptr_t has = f ? (intptr_t)map_get(&e->results, f) : 0;
        while (has && result_index(e, n, n->n_out) < has - 1)
            put_string(end_of(e, node), "\x12", new_name(e));
        for (int i = 0; i < n->n_attr; i++)
            if (n->attr[i].g)
                add_missing_results(e, n->attr[i].g, text_format("%s/5.%d/6.0", node, i));
    }
}

Names model_with_outputs(const char *path, const char *file, const Model *m, const Names *fetch, const char *folder,
                         int k)
{
    Edit e = {.m = m};
    Names as = {0}, got = {0}, last = {0};
    InnerTensors inner = inner_tensors(m);
    read_names(text_format("%s/outputs", folder), &got);
    read_names(text_format("%s/last", folder), &last);
    for (int i = 0; i < fetch->n; i++)
        vec_push(&as, add_fetched(&e, &inner, &last, fetch->at[i],
                                  data_among(&got, fetch->at[i], text_format("%s/%d", folder, k), "out")));
    add_missing_results(&e, m->graph, "/7.0");
    for (int i = 0; i < m->functions.n; i++)
        add_missing_results(&e, m->functions.at[i]->body, text_format("/25.%d", i));
    (void)end_of(&e, "/7.0");
    write_edited(&e, path, file);
    return as;
}
