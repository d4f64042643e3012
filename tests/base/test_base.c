#include "common/base/buffer.h"
#include "common/base/names.h"
#include "common/base/rng.h"
#include "common/base/status.h"
#include <criterion/criterion.h>

Test(status, every_row_comes_back_by_its_wire_name)
{
    for (int status = 0; status < STATUS_COUNT; status++)
        cr_assert_eq(status_from_wire_name(status_wire_name(status)), status);
    cr_assert_eq(status_from_wire_name("no such name"), STATUS_INTERNAL);
    cr_assert_eq(status_http_code(STATUS_OVERLOADED), 429);
}

Test(status, a_long_sentence_is_cut_between_characters)
{
    char text[FAULT_SENTENCE_BYTES + 8];
    struct fault fault;
    for (size_t shift = 0; shift < 3; shift++) {
        memset(text, 'a', shift);
        for (size_t at = shift; at + 3 < sizeof text; at += 3)
            memcpy(text + at, "\xE2\x82\xAC", 4);
        fault_set(&fault, STATUS_INVALID, NULL, "%s", text);
        cr_assert_eq((strlen(fault.sentence) - shift) % 3, 0);
        cr_assert_geq(strlen(fault.sentence), FAULT_SENTENCE_BYTES - 4);
    }
}

/* Known answers of the authors' kat_vectors for philox4x32-10. */
Test(rng, philox_gives_the_published_vectors)
{
    const uint32_t zeros[4] = {0}, ones[4] = {~0u, ~0u, ~0u, ~0u};
    uint32_t out[4];
    rng_philox(zeros, zeros, out);
    const uint32_t of_zeros[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    cr_assert_arr_eq(out, of_zeros, sizeof out);
    rng_philox(ones, ones, out);
    const uint32_t of_ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    cr_assert_arr_eq(out, of_ones, sizeof out);
}

Test(buffer, fails_at_its_bound_and_takes_nothing_after)
{
    struct buffer buffer;
    buffer_init(&buffer, 10);
    buffer_append_text(&buffer, "12345678");
    buffer_append_text(&buffer, "abc");
    cr_assert(buffer.failed);
    cr_assert_eq(buffer.size, 8);
    buffer_append_byte(&buffer, 'x');
    cr_assert_eq(buffer.size, 8);
    buffer_clear(&buffer);
    buffer_append_format(&buffer, "%d-%s", 12, "ab");
    cr_assert_not(buffer.failed);
    cr_assert(span_equal(buffer_span(&buffer), SPAN_LITERAL("12-ab")));
    buffer_consume(&buffer, 3);
    cr_assert(span_equal(buffer_span(&buffer), SPAN_LITERAL("ab")));
    buffer_fini(&buffer);
}

static const char *color_at(size_t index)
{
    static const char *const colors[] = {"red", "green", "blue"};
    return index < 3 ? colors[index] : NULL;
}

static const char *nothing_at(size_t index)
{
    (void)index;
    return NULL;
}

Test(names, are_joined_by_commas_and_cut_where_there_is_no_room)
{
    char text[32], narrow[8];
    cr_assert_str_eq(names_join(color_at, text, sizeof text), "red, green, blue");
    cr_assert_str_eq(names_join(color_at, narrow, sizeof narrow), "red, gr");
    cr_assert_str_eq(names_join(nothing_at, text, sizeof text), "");
}
