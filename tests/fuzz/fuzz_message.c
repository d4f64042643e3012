/* Any bytes as each message: refused with a named reason, or read to something that, sent
 * again, is read the same. */
#include "common/base/invariant.h"
#include "proto/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a decoder read is within its bounds, so encoding it must succeed, and whoever
 * decodes that must read nothing else: a second encoding gives the same bytes. */
#define CHECK(name)                                                                      \
    static void check_##name(struct span bytes)                                          \
    {                                                                                    \
        struct name message, again;                                                      \
        struct fault fault = {0};                                                        \
        struct buffer first, second, arena, arena_again;                                 \
        buffer_init(&first, 2 * MESSAGE_BYTES_MAX);                                      \
        buffer_init(&second, 2 * MESSAGE_BYTES_MAX);                                     \
        buffer_init(&arena, MESSAGE_BYTES_MAX);                                          \
        buffer_init(&arena_again, MESSAGE_BYTES_MAX);                                    \
        if (name##_decode(bytes, &message, &arena, &fault) == STATUS_OK) {               \
            name##_encode(&message, &first);                                             \
            INVARIANT(!first.failed);                                                    \
            INVARIANT(name##_decode(buffer_span(&first), &again, &arena_again,           \
                                    &fault) == STATUS_OK);                               \
            name##_encode(&again, &second);                                              \
            INVARIANT(span_equal(buffer_span(&first), buffer_span(&second)));            \
        } else {                                                                         \
            INVARIANT(fault.status == STATUS_MALFORMED && fault.sentence[0] != '\0');    \
        }                                                                                \
        buffer_fini(&first);                                                             \
        buffer_fini(&second);                                                            \
        buffer_fini(&arena);                                                             \
        buffer_fini(&arena_again);                                                       \
    }

CHECK(submit_request)
CHECK(submit_reply)
CHECK(poll_request)
CHECK(poll_reply)
CHECK(cancel_request)
CHECK(cancel_reply)
CHECK(status_request)
CHECK(status_reply)
CHECK(drain_request)
CHECK(drain_reply)
CHECK(attach_request)
CHECK(attach_reply)
CHECK(beat_request)
CHECK(beat_reply)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const checks[])(struct span) = {
        check_submit_request, check_submit_reply,   check_poll_request,
        check_poll_reply,     check_cancel_request, check_cancel_reply,
        check_status_request, check_status_reply,   check_drain_request,
        check_drain_reply,    check_attach_request, check_attach_reply,
        check_beat_request,   check_beat_reply};
    struct span bytes = {(const char *)data, size};
    struct fault fault = {0};
    enum message_op op;
    if (message_op(bytes, &op, &fault) != STATUS_OK)
        INVARIANT(fault.status == STATUS_MALFORMED && fault.sentence[0] != '\0');
    else
        INVARIANT(op < MESSAGE_OPS);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        checks[i](bytes);
    return 0;
}
