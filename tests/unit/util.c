/* util.c - unit tests of compiler/base/pool.c, util.c and error.c: the pool, names, maps, texts, messages.
 * Parts: base/util, base/pool, base/part, base/session, base/utf8, base/error, base/fail. */
#include "unit.h"

#include "onnxcc.h"
#include "ir/schema.h"

static void pool_zeroes_and_grows(void **state)
{
    (void)state;
    unsigned char *p = pool_alloc(10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(p[i], 0);
    assert_int_equal((uintptr_t)p % 16, 0);
    size_t n = 10;
    p[0] = 7;
    for (; n < 3000000; n *= 3) {
        p = pool_grow(p, n, n * 3);
        assert_int_equal(p[0], 7);
        assert_int_equal(p[n], 0);
        assert_int_equal(p[n * 3 - 1], 0);
        p[n * 3 - 1] = 0;
        assert_non_null(pool_alloc(20000));
    }
    assert_non_null(pool_alloc(0));
}

static void vec_keeps_order(void **state)
{
    (void)state;
    VEC(int) v = {0};
    for (int i = 0; i < 100000; i++)
        vec_push(&v, i * 3);
    assert_int_equal(v.n, 100000);
    for (int i = 0; i < v.n; i++)
        assert_int_equal(v.at[i], i * 3);
}

static void names_are_interned(void **state)
{
    (void)state;
    Name a = name("conv"), many[3000];
    for (int i = 0; i < 3000; i++)
        many[i] = name_format("value_%d", i);
    for (int i = 0; i < 3000; i++)
        assert_ptr_equal(many[i], name_format("value_%d", i));
    assert_ptr_equal(a, name_bytes("convolution", 4));
    assert_ptr_not_equal(name_bytes("a\0b", 3), name("a"));
    assert_true(name_is(a, "conv"));
    assert_false(name_is(a, "con"));
    assert_ptr_equal(name(""), name_bytes(NULL, 0));
    char longer[1001];
    memset(longer, 'x', 1000);
    longer[1000] = 0;
    assert_int_equal(name_format("%s!", longer)->n, 1001);
}

static void maps_find(void **state)
{
    (void)state;
    Map m = {0};
    static int key[5000];
    assert_null(map_get(&m, &key[0]));
    for (int i = 0; i < 5000; i++)
        map_put(&m, &key[i], &key[4999 - i]);
    map_put(&m, &key[3], &key[3]);
    assert_int_equal(m.n, 5000);
    assert_ptr_equal(map_get(&m, &key[3]), &key[3]);
    for (int i = 4; i < 5000; i++)
        assert_ptr_equal(map_get(&m, &key[i]), &key[4999 - i]);
    assert_null(map_get(&m, &m));
    assert_null(map_get(&m, NULL));
}

static void texts_grow(void **state)
{
    (void)state;
    Text t = {0};
    for (int i = 0; i < 100000; i++)
        text_put(&t, "%05d", i);
    assert_int_equal(t.n, 500000);
    assert_memory_equal(t.s + 499995, "99999", 6);
    text_bytes(&t, "\0x", 2);
    assert_int_equal(t.s[500000], 0);
    assert_int_equal(t.n, 500002);
}

PART(Name, mine)
PART(int, ended)

static void ends(void *count) { ++*(int *)count; }

static void runs_begin_with_nothing(void **state)
{
    (void)state;
    Name a = name("again");
    int count = 0;
    *ended() = 1;
    session_at_end(ends, &count);
    *mine() = a;
    session_end();
    assert_int_equal(count, 1);
    session_begin();
    assert_null(*mine());
    assert_int_equal(*ended(), 0);
    assert_true(name_is(name("again"), "again"));
}

static void keep_text(const Message *m, void *t) { error_text(t, m); }

static void stop(void *unused)
{
    (void)unused;
    stop_on_errors();
}

static void messages_say_where(void **state)
{
    (void)state;
    Text t = {0};
    say_to(keep_text, &t);
    error_set_file("m.onnx");
    const Source source = {.name = name("/head/\x1b[2J"), .op_type = name("Conv"), .within = "graph", .index = 3};
    Node n = {.source = &source};
    error_node(&n, "SHAPE", "axis %d is wrong", 4);
    note_help("take %d", 3);
    error_node(&n, "SHAPE", "axis %d is wrong", 4); /* the same again: once */
    note_help("take %d", 3);
    warn_at("graph", "", "strange\r");
    Node inner = {.source = &source, .op = op_find("", "Mul", INT64_MAX)};
    error_node(&inner, "", "no");
    assert_int_equal(error_catch(stop, NULL), EXIT_MODEL);
    say_to(NULL, NULL);
    assert_string_equal(t.s, "error[SHAPE]: axis 4 is wrong\n"
                             "  --> m.onnx: graph.node[3] \"/head/\\x1B[2J\" (Conv)\n"
                             "help: take 3\n"
                             "warning: strange\\x0D\n"
                             "  --> m.onnx: graph\n"
                             "error: no\n"
                             "  --> m.onnx: graph.node[3] \"/head/\\x1B[2J\" (Conv, in its Mul)\n"
                             "error: m.onnx: 2 errors, 1 warning; no file written\n");
    error_reset();
    stop_on_errors();
}

static void messages_are_limited(void **state)
{
    (void)state;
    Text t = {0};
    say_to(keep_text, &t);
    for (int i = 0; i < 50; i++) {
        error_at("graph", "X", "value %d", i);
        note_help("do not");
    }
    assert_int_equal(error_count(), 50);
    assert_null(strstr(t.s, "value 20\n"));
    assert_non_null(strstr(t.s, "value 19\n"));
    error_set_file("m.onnx");
    assert_int_equal(error_catch(stop, NULL), EXIT_MODEL);
    say_to(NULL, NULL);
    assert_non_null(strstr(t.s, "error[X]: 30 more of the same kind as above\nerror: m.onnx: 50 errors; no file"));
    error_reset();
}

static void printable_is_safe(void **state)
{
    (void)state;
    assert_string_equal(printable(name("größe 尺")), "größe 尺");
    assert_string_equal(printable(name("a\nb\x7f")), "a\\x0Ab\\x7F");
    assert_string_equal(printable(name_bytes("a\0b", 3)), "a\\x00b");
    assert_string_equal(printable(name("\xE2\x80\xAE")), "\\xE2\\x80\\xAE"); /* right-to-left override */
    assert_string_equal(printable(name("\xC2\x9B")), "\\xC2\\x9B");          /* a control in two bytes */
    assert_string_equal(printable(name("\xC0\xAF\xF5")), "\\xC0\\xAF\\xF5");
    assert_string_equal(printable(name("cut \xE2\x82")), "cut \\xE2\\x82");
    char longer[301];
    memset(longer, 'y', 300);
    longer[300] = 0;
    assert_int_equal(strlen(printable(name(longer))), 203);
}

UNIT_TESTS(cmocka_unit_test(pool_zeroes_and_grows), cmocka_unit_test(vec_keeps_order),
           cmocka_unit_test(names_are_interned), cmocka_unit_test(maps_find), cmocka_unit_test(texts_grow),
           cmocka_unit_test(runs_begin_with_nothing), cmocka_unit_test(messages_say_where),
           cmocka_unit_test(messages_are_limited), cmocka_unit_test(printable_is_safe))
