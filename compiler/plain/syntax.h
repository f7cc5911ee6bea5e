/* syntax.h - tokens and syntax trees of the C that the runtime is written in. */
#pragma once

#include "base/util.h"
#include "plain/value.h"

/* ---- tokens (cpp.c) ---------------------------------------------------------------------------------------------- */

typedef enum TokenKind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_PUNCT } TokenKind;
typedef struct Hidden { /* the macros that a token came from, which it does not expand again */
    const struct Macro *macro;
    const struct Hidden *next;
} Hidden;
typedef struct Token {
    TokenKind kind;
    bool first;       /* of a line */
    bool touches;     /* the token before, without a space */
    bool after_paste; /* ## is before it, in a macro's body */
    const char *s;
    const char *before, *after; /* comments: on lines of their own, at the end of the line; NULL: none */
    const char *gap;            /* white space and comments between the token before and this one, as text */
    const char *line; /* part of a directive that stays in the text: the macro that it defines, or ""; NULL: none */
    const Hidden *hidden;
    struct Token *next;
} Token;

typedef const char *IncludedText(const char *name);

const char *intern(const char *s, size_t n); /* interned: equal strings are equal pointers */
/* The tokens of a text after preprocessing. declared: the macros of the text are not kept, as it is a header that the
 * output includes. */
Token *cpp_tokens(const char *text, IncludedText *included, bool declared);
const char *cpp_system_headers(void); /* lines of #include */

/* ---- declarations ------------------------------------------------------------------------------------------------ */

typedef VEC(struct Syntax *) SyntaxList;
typedef VEC(struct Var *) Vars;

/* What precedes a declarator: "static const struct conv" is the storage "static", the specifiers "const struct
 * conv". */
typedef struct Specs {
    const char *storage, *text;
    const char *base; /* "struct conv", "idx", "void": without qualifiers */
    struct Struct *structure;
    bool is_const;
} Specs;

typedef struct Var { /* a variable, parameter or field */
    Specs specs;
    const char *name;
    const char *stars;   /* "*const " */
    int pointers;        /* number of stars */
    bool in_parentheses; /* (*to)[4]: the stars are in parentheses with the name */
    SyntaxList dims;     /* of an array; a NULL: [] */
    bool is_parameter, is_global, is_static;
    /* Found by the analysis. */
    bool escapes;          /* its address is taken, so that it may change anywhere */
    bool is_assigned;      /* other than by its initialiser */
    bool is_gone;          /* no longer declared */
    int uses;              /* that are left */
    ValueSet value;        /* all values that it has */
    VEC(ValueSet) element; /* of a field that is an array of a known length: instead */
    struct CFunction *function;
    int index;             /* of a parameter */
    int cell;              /* of a field: its first cell in the struct's */
    struct Object *object; /* where trace.c has its value */
} Var;

typedef struct Struct {
    const char *tag; /* "struct conv" */
    Vars fields;
    int cells;     /* that trace.c follows */
    bool is_bytes; /* it is also accessed as something else, so that its fields stay where they are */
    bool is_known; /* only the initialisers and assignments in the text write its fields */
} Struct;

typedef struct CFunction {
    const char *name;
    Specs specs;
    const char *stars;
    int pointers;
    Vars parameters;
    Token *tokens; /* of the body, from { on */
    struct Syntax *body;
    bool is_public, is_reached, has_body, ends; /* ends: its end can be reached without a return */
    ValueSet value;                             /* the values that it returns */
    struct Object *result;                      /* trace.c: the value that it returns, and calls that are known */
    struct KnownCalls *known;
    Vars locals;
    bool seen, pure; /* see function_is_pure */
} CFunction;

typedef enum ItemKind { ITEM_TYPEDEF, ITEM_ENUM, ITEM_STRUCT, ITEM_VAR, ITEM_FUNCTION } ItemKind;
typedef struct TopItem { /* at the top level of the file */
    ItemKind kind;
    const char *name, *comment;
    Token *from, *to; /* to: the token after it */
    bool is_declared; /* in the header */
    bool is_used;
    CFunction *function;        /* or prototype */
    struct Syntax *declaration; /* of a variable */
    Struct *structure;
} TopItem;

/* ---- trees ------------------------------------------------------------------------------------------------------- */

typedef enum NodeKind {
    NAME,
    NUMBER,
    STRING,
    UNARY,   /* s: operator */
    POSTFIX, /* ++ or -- */
    BINARY,
    ASSIGN,
    COND,
    COMMA,
    CALL, /* the function's name, arguments */
    INDEX,
    MEMBER,     /* s: field; arrow */
    CAST,       /* type */
    SIZEOF,     /* of a type, or an expression */
    COMPOUND,   /* (type){list} */
    LIST,       /* {items} */
    FIELD_IS,   /* .s = value */
    ELEMENT_IS, /* [index] = value */
    BLOCK,
    IF,
    FOR,
    WHILE,
    DO,
    SWITCH,
    CASE,
    DEFAULT,
    RETURN,
    BREAK,
    CONTINUE,
    EVALUATE,
    DECLARE,
    ENUM /* inside a function; s: its text */
} NodeKind;

typedef struct TypeOf {
    const char *base;
    Struct *structure;
    int pointers; /* and arrays */
} TypeOf;

typedef struct Syntax {
    NodeKind kind;
    bool arrow;
    const char *s;
    Var *var;      /* NAME: of a variable; MEMBER: the field; DECLARE: what is declared */
    TopItem *item; /* NAME: of a function */
    Specs type;    /* CAST, SIZEOF, COMPOUND */
    const char *stars;
    int pointers;
    SyntaxList dims;          /* of a type */
    bool is_enumerator, more; /* more: DECLARE after a comma, of the same declaration */
    int64_t number;           /* of an enumerator */
    SyntaxList kid;           /* a FOR has four: declaration or expression, condition, step, body; may be NULL */
    const char *before, *after;
    ValueSet *seen;        /* the values that it had in trace.c */
    TypeOf kept;           /* its type, while file()->keeps_types ... */
    bool is_kept;          /* ... and once it is known */
    struct Object *object; /* of a COMPOUND, or a CALL that returns a structure */
} Syntax;

/* ---- the file ---------------------------------------------------------------------------------------------------- */

typedef struct CFile {
    VEC(TopItem *) items;
    Map named;       /* name -> its item; "struct conv", too */
    Map enumerators; /* name -> a Syntax */
    Map types;       /* names that are types */
    VEC(CFunction *) reached;
    ValueSet (*value_of)(Syntax *e); /* of a constant expression */
    bool keeps_types;                /* expressions do not change now */
} CFile;
SHARED_PART(CFile, file)

void parse_file(Token *tokens, bool declared); /* parse_top.c: the items; bodies are parsed when they are reached */
void parse_body(CFunction *f);                 /* parse.c */

/* For the two files of the parser. */
typedef struct Parsing {
    Token *at;
    CFunction *function;
    VEC(Map) scopes;
} Parsing;
bool is_at(const Parsing *p, const char *s);
bool take(Parsing *p, const char *s);
void expect(Parsing *p, const char *s);
bool is_at_type(const Parsing *p);
Specs parse_specs(Parsing *p);
Var *parse_declarator(Parsing *p, const Specs *specs);
Syntax *parse_assignment(Parsing *p);
Syntax *parse_initialiser(Parsing *p);
int precedence(const char *op); /* of a binary operator, from 1 on; 0: it is none */
void parse_enumerators(Parsing *p);
Syntax *node(NodeKind kind, const char *s);
Token *after_braces(Token *t); /* the token after the } that closes the { at t */

/* ---- types.c: what expressions are ------------------------------------------------------------------------------- */
TypeOf type_of(const Syntax *e);
TypeOf type_of_operands(const Syntax *e); /* the one that both operands of a BINARY are converted to */
enum { RANK_SMALL, RANK_INT, RANK_UNSIGNED, RANK_WIDE, RANK_I64, RANK_SIZE, RANK_FLOAT, RANK_OTHER };
int rank_of(const char *base);           /* of an arithmetic type: C converts operands to that of the higher rank */
Var *field_of(const Syntax *e);          /* a MEMBER */
bool is_followed_type(const char *base); /* a signed integer, whose values are followed */
bool is_followed(const Var *v);          /* a pointer, too */
bool is_mention(const Syntax *e);        /* (void)x */
bool is_pure(const Syntax *e);           /* can e be left out? */
bool function_is_pure(CFunction *f);
Syntax *effect(Syntax *e); /* the part that has effects, if the value of e is not used */
void each_node(Syntax *n, void (*visit)(Syntax *, void *), void *arg); /* n and all below, n first */

/* ---- analyse.c, trace.c, cut.c, sweep.c, used.c, print.c -------------------------------------------------------- */
void analyse(void);
ValueSet value_of(Syntax *e);                               /* after analyse() */
ValueSet value_anywhere(Syntax *e);                         /* as far as it is known without executing the file */
ValueSet computed(const Syntax *e, ValueSet a, ValueSet b); /* e: a BINARY of operands a and b, not && or || */
ValueSet converted(ValueSet v, const char *to, const char *from);
bool label_may_be(const Syntax *n, Syntax *label, ValueSet v); /* can v be at the label of the SWITCH n? */
bool has_other(const Syntax *n, ValueSet v);                   /* has v a value for which the SWITCH n has no case? */
void trace_file(void);                                         /* after analyse() */
void cut(void);
void sweep(void);
void find_used(void);
void print_file(Text *t);
