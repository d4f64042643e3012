/* The door's msgpack, both ways. */
#include "frontend/core/msgpack_json.h"
#include <criterion/criterion.h>
#include <stdlib.h>

static enum status read(struct span bytes, json_t **root)
{
    struct fault fault;
    return msgpack_json_read(bytes, root, &fault);
}

Test(msgpack_json, a_document_comes_back_the_same)
{
    const char *text = "{\"a\":[1,-2,9223372036854775807,true,false,null,1.5],\"b\":"
                       "{\"c\":\"d\xC3\xA9\"},\"e\":\"\"}";
    struct buffer packed;
    json_t *json = json_loads(text, 0, NULL), *back;
    buffer_init(&packed, 4096);
    msgpack_json_write(&packed, json);
    cr_assert_eq(read(buffer_span(&packed), &back), STATUS_OK);
    cr_assert(json_equal(json, back));
    /* Whatever is cut off is missed. */
    for (size_t size = 0; size < packed.size; size++) {
        json_t *none;
        cr_assert_eq(read((struct span){packed.data, size}, &none), STATUS_MALFORMED);
    }
    json_decref(json);
    json_decref(back);
    buffer_fini(&packed);
}

Test(msgpack_json, short_forms_and_bin_are_read)
{
    json_t *root;
    cr_assert_eq(read(SPAN_LITERAL("\x82\xA1"
                                   "a\xC4\x01"
                                   "b\xA1"
                                   "c\x93\x01\xFF\xC0"),
                      &root),
                 STATUS_OK);
    char *text = json_dumps(root, JSON_COMPACT);
    cr_assert_str_eq(text, "{\"a\":\"b\",\"c\":[1,-1,null]}");
    free(text);
    json_decref(root);
}

Test(msgpack_json, what_is_no_map_of_texts_is_refused)
{
    static const struct {
        const char *bytes;
        size_t size;
    } rows[] = {
        {"", 0},
        {"\x90", 1},                   /* a list */
        {"\x81\x01\x01", 3},           /* a key that is a number */
        {"\x81\xA1\xFF\x01", 4},       /* a key that is no UTF-8 */
        {"\x81\xA1x\xA1\xFF", 5},      /* a text that is none */
        {"\x82\xA1x\x01\xA1x\x01", 7}, /* a key twice */
        {"\x81\xA1x\xD4\x01\x01", 6},  /* an extension */
        {"\x80\xC0", 2},               /* more behind it */
        {"\xDF\xFF\xFF\xFF\xFF", 5},   /* a count that cannot be */
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        json_t *root;
        cr_expect_eq(read((struct span){rows[row].bytes, rows[row].size}, &root),
                     STATUS_MALFORMED, "row %zu", row);
    }
}

Test(msgpack_json, depth_is_bounded)
{
    char deep[10000];
    json_t *root;
    memset(deep, 0x91, sizeof deep);
    deep[0] = (char)0x81;
    deep[1] = (char)0xA1;
    deep[2] = 'x';
    cr_assert_eq(read((struct span){deep, sizeof deep}, &root), STATUS_MALFORMED);
}
