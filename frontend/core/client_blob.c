#include "frontend/core/client_blob.h"

#include "common/base/invariant.h"

enum flag { FLAG_STREAM = 1, FLAG_USAGE = 2, FLAG_ECHO = 4, FLAG_LOGPROBS = 8 };
#define FLAGS_ALL 15u

static void put(struct buffer *out, uint64_t value, int bytes)
{
    for (int at = 0; at < bytes; at++)
        buffer_append_byte(out, (char)(value >> (8 * at)));
}

static void put_text(struct buffer *out, struct span text)
{
    INVARIANT(text.size <= UINT16_MAX);
    put(out, text.size, 2);
    buffer_append_span(out, text);
}

void client_blob_encode(const struct answer_format *format, struct buffer *out)
{
    unsigned flags =
        (format->stream ? FLAG_STREAM : 0u) | (format->include_usage ? FLAG_USAGE : 0u) |
        (format->echo ? FLAG_ECHO : 0u) | (format->logprobs ? FLAG_LOGPROBS : 0u);
    put(out, CLIENT_BLOB_VERSION, 1);
    put(out, format->kind, 1);
    put(out, flags, 1);
    put(out, format->top_logprobs, 1);
    put(out, (uint64_t)format->created_unix_s, 8);
    put(out, format->choices_per_prompt, 4);
    put_text(out, format->id);
    put_text(out, format->model);
    for (uint32_t index = 0; index < format->stops_count; index++)
        put_text(out, format->stops[index]);
    put(out, 0, 2);
}

/* Reads on from *bytes, or marks it broken by data NULL. */
static uint64_t get(struct span *bytes, size_t count)
{
    uint64_t value = 0;
    if (bytes->size < count) {
        *bytes = (struct span){0};
        return 0;
    }
    for (size_t at = 0; at < count; at++)
        value |= (uint64_t)(unsigned char)bytes->data[at] << (8 * at);
    *bytes = (struct span){bytes->data + count, bytes->size - count};
    return value;
}

static struct span get_text(struct span *bytes)
{
    size_t size = get(bytes, 2);
    struct span text = {bytes->data, size};
    if (bytes->size < size) {
        *bytes = (struct span){0};
        return (struct span){0};
    }
    *bytes = (struct span){bytes->data + size, bytes->size - size};
    return text;
}

static void get_stops(struct span *bytes, struct answer_format *format)
{
    struct span stop = get_text(bytes);
    while (stop.size > 0) {
        if (format->stops_count == STOP_STRINGS_MAX ||
            stop.size > STOP_STRING_BYTES_MAX) {
            *bytes = (struct span){0};
            return;
        }
        format->stops[format->stops_count++] = stop;
        stop = get_text(bytes);
    }
}

static bool is_sound(const struct answer_format *format, struct span rest,
                     uint64_t version, uint64_t flags)
{
    return version == CLIENT_BLOB_VERSION && rest.data && rest.size == 0 &&
           (format->kind == ANSWER_COMPLETION || format->kind == ANSWER_CHAT) &&
           flags <= FLAGS_ALL && format->top_logprobs <= TOP_LOGPROBS_MAX &&
           format->choices_per_prompt >= 1 && format->choices_per_prompt <= CHOICES_MAX &&
           format->id.size > 0 && format->id.size < REQUEST_ID_BYTES;
}

enum status client_blob_decode(struct span bytes, struct answer_format *format,
                               struct fault *fault)
{
    memset(format, 0, sizeof *format);
    uint64_t version = get(&bytes, 1);
    format->kind = (enum answer_kind)get(&bytes, 1);
    uint64_t flags = get(&bytes, 1);
    format->top_logprobs = (uint8_t)get(&bytes, 1);
    format->created_unix_s = (int64_t)get(&bytes, 8);
    format->choices_per_prompt = (uint32_t)get(&bytes, 4);
    format->id = get_text(&bytes);
    format->model = get_text(&bytes);
    get_stops(&bytes, format);
    format->stream = flags & FLAG_STREAM;
    format->include_usage = flags & FLAG_USAGE;
    format->echo = flags & FLAG_ECHO;
    format->logprobs = flags & FLAG_LOGPROBS;
    if (!is_sound(format, bytes, version, flags))
        return fault_set(fault, STATUS_CORRUPT, NULL,
                         "A request's record holds no answer format that we know.");
    return STATUS_OK;
}
