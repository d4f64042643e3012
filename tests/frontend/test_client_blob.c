/* How an answer is written, through a record and back. */
#include "frontend/core/client_blob.h"
#include <criterion/criterion.h>

static const struct answer_format format = {
    .kind = ANSWER_CHAT,
    .stream = true,
    .include_usage = true,
    .logprobs = true,
    .top_logprobs = 20,
    .choices_per_prompt = 128,
    .created_unix_s = 1234567890123,
    .id = {"chatcmpl-1", 10},
    .model = {"m", 1},
    .stops = {{"\n", 1}, {"\0x", 2}},
    .stops_count = 2,
};

Test(client_blob, a_blob_gives_back_what_went_in)
{
    struct answer_format read;
    struct fault fault;
    struct buffer blob;
    buffer_init(&blob, CLIENT_BLOB_BYTES_MAX);
    client_blob_encode(&format, &blob);
    cr_assert_eq(client_blob_decode(buffer_span(&blob), &read, &fault), STATUS_OK);
    cr_assert_eq(read.kind, ANSWER_CHAT);
    cr_assert(read.stream && read.include_usage && read.logprobs && !read.echo);
    cr_assert_eq(read.top_logprobs, 20);
    cr_assert_eq(read.choices_per_prompt, 128);
    cr_assert_eq(read.created_unix_s, 1234567890123);
    cr_assert(span_equal(read.id, format.id));
    cr_assert(span_equal(read.model, format.model));
    cr_assert_eq(read.stops_count, 2);
    cr_assert(span_equal(read.stops[1], format.stops[1]));
    buffer_fini(&blob);
}

Test(client_blob, a_cut_or_a_longer_blob_is_refused)
{
    struct answer_format read;
    struct fault fault;
    struct buffer blob;
    buffer_init(&blob, CLIENT_BLOB_BYTES_MAX);
    client_blob_encode(&format, &blob);
    for (size_t size = 0; size < blob.size; size++)
        cr_assert_eq(client_blob_decode((struct span){blob.data, size}, &read, &fault),
                     STATUS_CORRUPT, "%zu bytes", size);
    buffer_append_byte(&blob, 0);
    cr_assert_eq(client_blob_decode(buffer_span(&blob), &read, &fault), STATUS_CORRUPT);
    blob.data[0]++;
    cr_assert_eq(
        client_blob_decode((struct span){blob.data, blob.size - 1}, &read, &fault),
        STATUS_CORRUPT);
    buffer_fini(&blob);
}
