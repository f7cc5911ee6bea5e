/* analyse.c - finds the functions that the file's public ones reach, and the values that each variable, parameter,
 * field and result has in them. The analysis is flow-insensitive: each has one set of values in the whole file. The
 * sets begin empty, and what can be executed with the values so far adds to them, up to a fixed point. */
#include <stdlib.h>

#include "base/fail.h"
#include "plain/syntax.h"

typedef struct Analysis {
    bool changed, records, absent_is_any; /* absent_is_any: a variable without a recorded value may have any */
    bool read_only;                       /* the value being computed initialises a pointer to const */
    CFunction *function;
} Analysis;
PART(Analysis, analysis)

static ValueSet eval(Syntax *e);

/* ---- variables --------------------------------------------------------------------------------------------------- */

static void add(ValueSet *to, ValueSet v)
{
    if (!analysis()->records)
        return;
    const ValueSet all = value_widen(*to, v);
    if (!value_is_equal(&all, to)) {
        *to = all;
        analysis()->changed = true;
    }
}

static ValueSet read_value(const ValueSet *v)
{
    const bool absent = v->kind == VALUE_NONE && (analysis()->absent_is_any || !analysis()->records);
    return absent ? value_any() : *v;
}

static void set_escaped(Var *v)
{
    if (analysis()->records && !v->escapes) {
        v->escapes = true;
        analysis()->changed = true;
    }
}

static void escape_struct(Struct *s)
{
    if (s && analysis()->records)
        s->is_bytes = true;
    for (int i = 0; s && i < s->fields.n; i++) {
        set_escaped(s->fields.at[i]);
        if (!s->fields.at[i]->pointers)
            escape_struct(s->fields.at[i]->specs.structure);
    }
}

static TypeOf type_of_declared(const Var *v)
{
    return (TypeOf){v->specs.base, v->specs.structure, v->pointers + v->dims.n};
}

/* A pointer `from` becomes one of type `to`: what both point to may be written as either. */
static void escape_converted(TypeOf to, const Syntax *from)
{
    if (from->kind == LIST || is_mention(from))
        return;
    const TypeOf t = type_of(from);
    if (!t.pointers || t.structure == to.structure || !t.base)
        return;
    escape_struct(t.structure);
    escape_struct(to.pointers ? to.structure : NULL);
}

/* v converted from type `from` to type `to`: from a wider type, the conversion may change it. */
ValueSet converted(ValueSet v, const char *to, const char *from)
{
    const bool narrow = to && strcmp(to, "i64") != 0 && strcmp(to, "int64_t") != 0;
    const bool wide =
        from && (!strcmp(from, "i64") || !strcmp(from, "int64_t") ||
                 (strcmp(to ? to : "", "idx") != 0 && strcmp(from, "int") != 0 && strcmp(from, "i32") != 0));
    return narrow && wide ? value_limited(v) : v;
}

static void add_to_var(Var *v, ValueSet value, const Syntax *from)
{
    if (is_followed(v))
        add(&v->value, v->pointers ? value : converted(value, v->specs.base, from ? type_of(from).base : NULL));
}

static bool is_known_field(const Syntax *e)
{
    const Struct *s = type_of(e->kid.at[0]).structure;
    return s && s->is_known && !e->var->escapes;
}

/* ---- initialisers ------------------------------------------------------------------------------------------------ */

static void init_struct(Struct *s, Syntax *list);

static void init_array(Var *f, Syntax *list)
{
    int next = 0;
    for (int i = 0; list && i < list->kid.n; i++) {
        Syntax *item = list->kid.at[i];
        int64_t at = next;
        if (item->kind == ELEMENT_IS) {
            const ValueSet index = eval(item->kid.at[0]);
            value_is_single(&index, &at);
            item = item->kid.at[1];
        }
        if (f->specs.structure && !f->pointers && (item->kind == LIST || item->kind == NUMBER))
            init_struct(f->specs.structure, item->kind == LIST ? item : NULL);
        else if (item->kind != LIST) {
            const ValueSet v = converted(eval(item), f->specs.base, type_of(item).base);
            if (at < f->element.n)
                add(&f->element.at[at], v);
        }
        next = (int)at + 1;
    }
    if (f->specs.structure && !f->pointers) /* there may be elements that the list does not mention */
        init_struct(f->specs.structure, NULL);
    for (int i = next; i < f->element.n; i++)
        add(&f->element.at[i], value_is(0));
}

/* Initialises a field; value: NULL: zero. */
static void init_field(Var *f, Syntax *value)
{
    if (f->dims.n) {
        Syntax one = {.kind = LIST};
        if (value && value->kind != LIST)
            vec_push(&one.kid, value);
        init_array(f, value && value->kind == LIST ? value : &one);
    } else if (f->specs.structure && !f->pointers && (!value || value->kind == LIST || value->kind == NUMBER))
        init_struct(f->specs.structure, value && value->kind == LIST ? value : NULL);
    else {
        const bool old = analysis()->read_only;
        analysis()->read_only = f->specs.is_const;
        const ValueSet v = value ? eval(value) : value_is(0);
        analysis()->read_only = old;
        if (value)
            escape_converted(type_of_declared(f), value);
        add_to_var(f, v, value);
    }
}

static void init_struct(Struct *s, Syntax *list)
{
    if (!s->fields.n)
        return;
    Syntax **value = NEWS(Syntax *, s->fields.n);
    for (int i = 0, next = 0; list && i < list->kid.n; i++) {
        Syntax *item = list->kid.at[i];
        if (item->kind == FIELD_IS) {
            for (next = 0; next < s->fields.n - 1 && s->fields.at[next]->name != item->s;)
                next++;
            item = item->kid.at[0];
        }
        value[next++ % s->fields.n] = item;
    }
    for (int i = 0; i < s->fields.n; i++)
        init_field(s->fields.at[i], value[i]);
}

/* Initialises a variable by a value in braces, or an expression. */
static void init_var(Var *v, Syntax *value)
{
    const bool old = analysis()->read_only;
    analysis()->read_only = v->specs.is_const;
    if (value->kind == LIST && v->specs.structure && !v->pointers && !v->dims.n)
        init_struct(v->specs.structure, value);
    else if (value->kind == LIST)
        init_array(v, value);
    else {
        add_to_var(v, eval(value), value);
        escape_converted(type_of_declared(v), value);
    }
    analysis()->read_only = old;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static ValueSet eval_number(const char *s)
{
    char *end;
    const long long v = strtoll(s, &end, 0);
    return *end || v > INT32_MAX ? value_any() : value_is(v);
}

static ValueSet eval_name(Syntax *e)
{
    if (e->is_enumerator)
        return value_is(e->number);
    if (!e->var)
        return !strcmp(e->s, "NULL") ? value_is(0) : value_any();
    if (e->var->dims.n)
        return e->var->is_parameter ? value_any() : value_pointer();
    return is_followed(e->var) && !e->var->escapes ? read_value(&e->var->value) : value_any();
}

static ValueSet eval_member(Syntax *e)
{
    eval(e->kid.at[0]);
    Var *f = field_of(e);
    if (f->dims.n) {
        if (!analysis()->read_only)
            set_escaped(f);
        return value_pointer();
    }
    return is_known_field(e) && is_followed(f) ? read_value(&f->value) : value_any();
}

/* The elements of a field that an index may select, [*from, *to); false: the field's values are not followed. */
static bool find_elements(Syntax *e, ValueSet index, int *from, int *to)
{
    Syntax *field = e->kid.at[0];
    if (field->kind != MEMBER || !field_of(field)->element.n || !is_known_field(field) ||
        !(field->var->pointers || is_followed_type(field->var->specs.base)))
        return false;
    *from = index.lo > 0 ? index.lo < field->var->element.n ? (int)index.lo : field->var->element.n : 0;
    *to = index.hi < field->var->element.n - 1 ? index.hi < 0 ? 0 : (int)index.hi + 1 : field->var->element.n;
    return index.kind != VALUE_NONE;
}

static ValueSet eval_index(Syntax *e)
{
    Syntax *array = e->kid.at[0];
    const ValueSet index = eval(e->kid.at[1]);
    int from, to;
    if (array->kind == MEMBER) {
        eval(array->kid.at[0]);
        field_of(array);
        if (index.kind == VALUE_NONE)
            return index;
    } else
        eval(array);
    if (!find_elements(e, index, &from, &to))
        return value_any();
    ValueSet all = {.kind = VALUE_NONE};
    for (int i = from; i < to; i++)
        all = value_join(all, read_value(&array->var->element.at[i]));
    return all;
}

static const char *base_of(const Syntax *e) { return e ? type_of(e).base : NULL; }

/* Assigns v to e: a variable, field or element. */
static void assign(Syntax *e, ValueSet v, const Syntax *from)
{
    int first, end;
    if (e->kind == NAME && e->var) {
        e->var->is_assigned = true;
        add_to_var(e->var, v, from);
    } else if (e->kind == MEMBER) {
        eval(e->kid.at[0]);
        add_to_var(field_of(e), v, from);
    } else if (e->kind == INDEX) {
        eval_index(e);
        const ValueSet index = eval(e->kid.at[1]);
        if (find_elements(e, index, &first, &end))
            for (int i = first; i < end; i++)
                add(&e->kid.at[0]->var->element.at[i], converted(v, e->kid.at[0]->var->specs.base, base_of(from)));
    } else
        eval(e);
}

/* The values that a variable can have if op= is executed any number of times. */
static ValueSet repeated(const char *op, ValueSet old, ValueSet by)
{
    if (old.kind == VALUE_NONE || by.kind == VALUE_NONE)
        return (ValueSet){.kind = VALUE_NONE};
    if (op[0] == '+' && by.lo >= 0)
        return value_between(old.lo, VALUE_INF);
    if (op[0] == '-' && by.lo >= 0)
        return value_between(-VALUE_INF, old.hi);
    return (op[0] == '/' || op[0] == '>') && by.lo >= 0 && old.lo >= 0 ? value_between(0, old.hi)
           : op[0] == '*' && by.lo >= 0 && old.lo >= 0                 ? value_between(0, VALUE_INF)
                                                                       : value_any();
}

static ValueSet eval_change(Syntax *e, const char *op, ValueSet by)
{
    Syntax *to = e->kid.at[0];
    const ValueSet old = eval(to);
    assign(to, type_of(to).pointers ? old : repeated(op, old, by), e->kind == ASSIGN ? e->kid.at[1] : NULL);
    return type_of(to).pointers ? old : value_any();
}

static ValueSet eval_address(Syntax *e)
{
    Syntax *of = e->kid.at[0];
    if (of->kind == MEMBER) {
        eval(of->kid.at[0]);
        if (!field_of(of)->specs.structure || of->var->pointers)
            set_escaped(of->var);
    } else if (of->kind == INDEX) {
        if (of->kid.at[0]->kind == MEMBER && !analysis()->read_only)
            set_escaped(field_of(of->kid.at[0]));
        eval(of);
    } else if (of->kind == NAME && of->var && is_followed(of->var))
        set_escaped(of->var);
    else
        eval(of);
    return value_pointer();
}

static ValueSet eval_unary(Syntax *e)
{
    if (!strcmp(e->s, "&"))
        return eval_address(e);
    if (!strcmp(e->s, "++") || !strcmp(e->s, "--"))
        return eval_change(e, e->s, value_is(1));
    const ValueSet v = eval(e->kid.at[0]);
    return !strcmp(e->s, "*") ? value_any() : value_unary(e->s, v);
}

static ValueSet eval_logical(Syntax *e, bool both)
{
    const ValueSet a = eval(e->kid.at[0]);
    const int left = value_truth(&a);
    if (a.kind == VALUE_NONE || left == !both)
        return a.kind == VALUE_NONE ? a : value_is(left);
    const ValueSet b = eval(e->kid.at[1]);
    const int right = value_truth(&b);
    if (b.kind == VALUE_NONE)
        return b;
    if (right == !both || (left == both && right == both))
        return value_is(right);
    return value_join(value_is(0), value_is(1));
}

static ValueSet eval_binary(Syntax *e)
{
    if (!strcmp(e->s, "&&") || !strcmp(e->s, "||"))
        return eval_logical(e, e->s[0] == '&');
    const ValueSet a = eval(e->kid.at[0]), b = eval(e->kid.at[1]);
    return computed(e, a, b);
}

ValueSet computed(const Syntax *e, ValueSet a, ValueSet b)
{
    const TypeOf ta = type_of(e->kid.at[0]), tb = type_of(e->kid.at[1]), t = type_of(e);
    if (a.kind == VALUE_NONE || b.kind == VALUE_NONE)
        return (ValueSet){.kind = VALUE_NONE};
    if (t.pointers)
        return ta.pointers ? a : b; /* nothing is added to NULL, so NULL stays NULL and others stay others */
    const bool numbers = is_followed_type(ta.base) && is_followed_type(tb.base) && !ta.pointers && !tb.pointers;
    const bool comparison = t.base && !strcmp(t.base, "int") && (ta.pointers || tb.pointers);
    if (numbers || comparison)
        return value_binary(e->s, a, b);
    return strchr("<>=!", e->s[0]) && e->s[1] != e->s[0] ? value_join(value_is(0), value_is(1)) : value_any();
}

static ValueSet eval_cast(Syntax *e)
{
    const TypeOf from = type_of(e->kid.at[0]);
    const ValueSet v = eval(e->kid.at[0]);
    escape_converted(type_of(e), is_mention(e) ? e : e->kid.at[0]);
    if (e->pointers)
        return from.pointers ? v : value_any();
    return is_followed_type(e->type.base) && is_followed_type(from.base) && !from.pointers
               ? converted(v, e->type.base, from.base)
           : v.kind == VALUE_NONE ? v
                                  : value_any();
}

static ValueSet eval_cond(Syntax *e)
{
    const ValueSet c = eval(e->kid.at[0]);
    const int truth = value_truth(&c);
    if (c.kind == VALUE_NONE)
        return c;
    if (truth >= 0)
        return eval(e->kid.at[truth ? 1 : 2]);
    const ValueSet a = eval(e->kid.at[1]);
    return value_join(a, eval(e->kid.at[2]));
}

static void reach(CFunction *f)
{
    if (f->is_reached)
        return;
    f->is_reached = true;
    analysis()->changed = true;
    vec_push(&file()->reached, f);
    parse_body(f);
}

static ValueSet eval_call(Syntax *e)
{
    const TopItem *item = e->kid.at[0]->item;
    CFunction *f = item ? item->function : NULL;
    const bool old = analysis()->read_only, has_body = f && f->has_body;
    if (e->kid.at[0]->kind != NAME || e->kid.at[0]->var)
        bug("plain: a call by a pointer in %s", analysis()->function->name);
    for (int i = 1; i < e->kid.n; i++) {
        Syntax *x = e->kid.at[i];
        Var *v = f && i <= f->parameters.n ? f->parameters.at[i - 1] : NULL;
        analysis()->read_only = v && v->specs.is_const;
        const ValueSet value = eval(x);
        const TypeOf t = type_of(x);
        if (t.structure && t.pointers == 1 && (!has_body || !v || v->specs.structure != t.structure) &&
            !(v && v->specs.is_const))
            escape_struct(t.structure);
        if (v && t.base && t.pointers && !t.structure)
            escape_struct(v->specs.structure);
        if (v && has_body)
            add_to_var(v, value, x);
    }
    analysis()->read_only = old;
    if (!has_body)
        return value_any();
    if (analysis()->records)
        reach(f);
    return f->pointers || is_followed_type(f->specs.base) ? read_value(&f->value) : value_any();
}

static ValueSet eval(Syntax *e)
{
    switch (e->kind) {
    case NAME: return eval_name(e);
    case NUMBER: return eval_number(e->s);
    case STRING: return e->s[0] == '"' ? value_pointer() : value_any();
    case UNARY: return eval_unary(e);
    case POSTFIX: return eval_change(e, e->s, value_is(1));
    case BINARY: return eval_binary(e);
    case COND: return eval_cond(e);
    case COMMA: eval(e->kid.at[0]); return eval(e->kid.at[1]);
    case CALL: return eval_call(e);
    case INDEX: return eval_index(e);
    case MEMBER: return eval_member(e);
    case CAST: return eval_cast(e);
    case SIZEOF: return value_any();
    case COMPOUND: init_var(&(Var){.specs = e->type, .dims = e->dims}, e->kid.at[0]); return value_any();
    case ASSIGN: break;
    default: bug("plain: kind %d is no expression", e->kind);
    }
    const bool old = analysis()->read_only;
    if (e->s[0] != '=') {
        const ValueSet by = eval(e->kid.at[1]);
        return eval_change(e, e->s, by);
    }
    const TypeOf to = type_of(e->kid.at[0]);
    analysis()->read_only =
        to.pointers > 0 && e->kid.at[0]->kind == NAME && e->kid.at[0]->var && e->kid.at[0]->var->specs.is_const;
    if (e->kid.at[0]->kind == MEMBER)
        analysis()->read_only = field_of(e->kid.at[0])->specs.is_const;
    const ValueSet v = eval(e->kid.at[1]);
    analysis()->read_only = old;
    escape_converted(to, e->kid.at[1]);
    assign(e->kid.at[0], v, e->kid.at[1]);
    return v;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static bool execute(Syntax *n);

bool has_other(const Syntax *n, ValueSet v)
{
    if (v.kind != VALUE_SET)
        return v.kind != VALUE_NONE;
    int matched = 0;
    EACH_OF (s, n->kid.at[1]->kid)
        for (int i = 0; i < v.n && s->kind == CASE; i++) {
            const ValueSet equal = value_binary("==", eval(s->kid.at[0]), value_is(v.v[i]));
            matched += value_truth(&equal) == 1;
        }
    return matched < v.n;
}

bool label_may_be(const Syntax *n, Syntax *label, ValueSet v)
{
    if (label->kind == DEFAULT)
        return has_other(n, v);
    const ValueSet equal = value_binary("==", v, eval(label->kid.at[0]));
    return v.kind != VALUE_NONE && value_truth(&equal) != 0;
}

static void execute_switch(Syntax *n)
{
    const ValueSet v = eval(n->kid.at[0]);
    bool live = false;
    EACH_OF (s, n->kid.at[1]->kid) {
        if (s->kind == CASE || s->kind == DEFAULT)
            live |= label_may_be(n, s, v);
        else if (live)
            live = execute(s);
    }
}

static void execute_loop(Syntax *condition, Syntax *body, Syntax *step)
{
    const ValueSet c = condition ? eval(condition) : value_is(1);
    if (c.kind == VALUE_NONE || !value_truth(&c))
        return;
    execute(body);
    if (step)
        eval(step);
}

static bool execute_if(Syntax *n)
{
    const ValueSet c = eval(n->kid.at[0]);
    const int truth = value_truth(&c);
    if (c.kind == VALUE_NONE)
        return true;
    bool goes_on = false;
    if (truth)
        goes_on |= execute(n->kid.at[1]);
    if (truth <= 0)
        goes_on |= n->kid.at[2] ? execute(n->kid.at[2]) : true;
    return goes_on;
}

/* False: the next statement is not reached. */
static bool execute(Syntax *n)
{
    switch (n->kind) {
    case BLOCK:
        for (int i = 0; i < n->kid.n; i++)
            if (!execute(n->kid.at[i]))
                return false;
        return true;
    case IF: return execute_if(n);
    case FOR:
        execute(n->kid.at[0]);
        execute_loop(n->kid.at[1], n->kid.at[3], n->kid.at[2]);
        return true;
    case WHILE: execute_loop(n->kid.at[0], n->kid.at[1], NULL); return true;
    case DO:
        execute(n->kid.at[0]);
        eval(n->kid.at[1]);
        return true;
    case SWITCH: execute_switch(n); return true;
    case RETURN:
        if (n->kid.at[0]) {
            CFunction *f = analysis()->function;
            const ValueSet v = eval(n->kid.at[0]);
            escape_converted((TypeOf){f->specs.base, f->specs.structure, f->pointers}, n->kid.at[0]);
            if (f->pointers || is_followed_type(f->specs.base))
                add(&f->value, converted(v, f->specs.base, type_of(n->kid.at[0]).base));
        }
        return false;
    case BREAK:
    case CONTINUE: return false;
    case DECLARE:
        if (n->kid.n)
            init_var(n->var, n->kid.at[0]);
        else if (n->var->is_static && n->var->specs.structure && !n->var->pointers)
            init_struct(n->var->specs.structure, NULL);
        return true;
    case EVALUATE:
        if (n->kid.n)
            eval(n->kid.at[0]);
        return true;
    case ENUM: return true;
    default: eval(n); return true; /* in the first part of a for */
    }
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void execute_all(void)
{
    do {
        analysis()->changed = false;
        for (int i = 0; i < file()->reached.n; i++) {
            analysis()->function = file()->reached.at[i];
            execute(analysis()->function->body);
        }
    } while (analysis()->changed);
}

void analyse(void)
{
    analysis()->records = true;
    EACH_OF (item, file()->items) {
        CFunction *f = item->function;
        if (item->kind != ITEM_FUNCTION || !f->has_body || !f->is_public)
            continue;
        EACH_OF (p, f->parameters) {
            const bool arena = p->name && !strcmp(p->name, "arena");
            p->value = arena ? value_pointer() : value_any();
        }
        reach(f);
    }
    execute_all();
    analysis()->absent_is_any = true;
    execute_all();
    analysis()->records = false;
}

ValueSet value_anywhere(Syntax *e) { return eval(e); }
