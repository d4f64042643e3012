/* answer_logprobs.c - logprobs as /v1/completions has them (parallel arrays, and maps
 * from texts) and as /v1/chat/completions has them (a list of objects with bytes). */
#include "frontend/core/answer.h"

#include "common/text/utf8.h"
#include "frontend/core/json_text.h"

/* JSON has no infinity; vLLM writes this for a probability of none. */
#define LOGPROB_MIN (-9999.0)

/* What was taken from the generation's buffers. */
struct entry {
    const struct logprob *values; /* the sampled, then the top ones */
    uint32_t top_count;
    uint32_t text_offset;
};

static struct entry entry_at(const struct generation *generation,
                             const struct choice *choice, size_t place)
{
    uint32_t top_count = generation->format.top_logprobs;
    size_t size = (1u + top_count) * sizeof(struct logprob);
    struct entry entry = {
        .values =
            (const struct logprob *)(const void *)(choice->logprobs.data + place * size),
        .top_count = top_count};
    memcpy(&entry.text_offset, choice->text_offsets.data + place * sizeof(uint32_t),
           sizeof entry.text_offset);
    return entry;
}

static size_t entries_count(const struct choice *choice)
{
    return choice->text_offsets.size / sizeof(uint32_t);
}

static struct span token_text(const struct generation *generation, uint32_t token)
{
    return tokenizer_token_bytes(generation->tokenizer, token, true);
}

static void write_value(struct buffer *out, float value)
{
    json_text_number(out, value > LOGPROB_MIN ? (double)value : LOGPROB_MIN);
}

/* --- /v1/completions ------------------------------------------------------------- */

/* A token of half a character is named by its bytes, so that maps keep its key apart; and
 * one with a zero byte, which many readers of JSON refuse in a key. */
static void write_legacy_token(struct buffer *out, struct span text)
{
    if (utf8_valid(text) && !memchr(text.data, '\0', text.size)) {
        json_text_string(out, text);
        return;
    }
    buffer_append_text(out, "\"bytes:");
    for (size_t at = 0; at < text.size; at++)
        buffer_append_format(out, "\\\\x%02x", (unsigned)(unsigned char)text.data[at]);
    buffer_append_byte(out, '"');
}

static void write_legacy_pair(struct buffer *out, const struct generation *generation,
                              const struct logprob *value)
{
    write_legacy_token(out, token_text(generation, value->token));
    buffer_append_byte(out, ':');
    write_value(out, value->value);
}

/* Whether an earlier value of the entry, from first on, has the same text. */
static bool is_repeated(const struct generation *generation, const struct entry *entry,
                        uint32_t first, uint32_t place)
{
    struct span text = token_text(generation, entry->values[place].token);
    for (uint32_t earlier = first; earlier < place; earlier++)
        if (span_equal(text, token_text(generation, entry->values[earlier].token)))
            return true;
    return false;
}

/* The top tokens, and the sampled one where it is not among them. */
static void write_legacy_top(struct buffer *out, const struct generation *generation,
                             const struct entry *entry)
{
    bool sampled_is_top = false;
    buffer_append_byte(out, '{');
    for (uint32_t place = 1; place <= entry->top_count; place++) {
        if (is_repeated(generation, entry, 1, place))
            continue;
        sampled_is_top |= span_equal(token_text(generation, entry->values[0].token),
                                     token_text(generation, entry->values[place].token));
        if (place > 1)
            buffer_append_byte(out, ',');
        write_legacy_pair(out, generation, &entry->values[place]);
    }
    if (!sampled_is_top) {
        buffer_append_byte(out, ',');
        write_legacy_pair(out, generation, &entry->values[0]);
    }
    buffer_append_byte(out, '}');
}

enum legacy_array { LEGACY_TOKENS, LEGACY_VALUES, LEGACY_TOPS, LEGACY_OFFSETS };

static void write_legacy_array(struct buffer *out, const struct generation *generation,
                               const struct choice *choice, enum legacy_array array)
{
    buffer_append_byte(out, '[');
    for (size_t place = 0; place < entries_count(choice); place++) {
        struct entry entry = entry_at(generation, choice, place);
        if (place > 0)
            buffer_append_byte(out, ',');
        if (array == LEGACY_TOKENS)
            write_legacy_token(out, token_text(generation, entry.values[0].token));
        else if (array == LEGACY_VALUES)
            write_value(out, entry.values[0].value);
        else if (array == LEGACY_TOPS)
            write_legacy_top(out, generation, &entry);
        else
            buffer_append_format(out, "%u", entry.text_offset);
    }
    buffer_append_byte(out, ']');
}

static void write_legacy(struct buffer *out, const struct generation *generation,
                         const struct choice *choice)
{
    buffer_append_text(out, "{\"tokens\":");
    write_legacy_array(out, generation, choice, LEGACY_TOKENS);
    buffer_append_text(out, ",\"token_logprobs\":");
    write_legacy_array(out, generation, choice, LEGACY_VALUES);
    buffer_append_text(out, ",\"top_logprobs\":");
    if (generation->format.top_logprobs > 0)
        write_legacy_array(out, generation, choice, LEGACY_TOPS);
    else
        buffer_append_text(out, "null");
    buffer_append_text(out, ",\"text_offset\":");
    write_legacy_array(out, generation, choice, LEGACY_OFFSETS);
    buffer_append_byte(out, '}');
}

/* --- /v1/chat/completions -------------------------------------------------------- */

static void write_chat_value(struct buffer *out, const struct generation *generation,
                             const struct logprob *value)
{
    struct span text = token_text(generation, value->token);
    buffer_append_text(out, "{\"token\":");
    json_text_string(out, text);
    buffer_append_text(out, ",\"logprob\":");
    write_value(out, value->value);
    buffer_append_text(out, ",\"bytes\":");
    json_text_bytes(out, text);
}

static void write_chat(struct buffer *out, const struct generation *generation,
                       const struct choice *choice)
{
    buffer_append_text(out, "{\"content\":[");
    for (size_t place = 0; place < entries_count(choice); place++) {
        struct entry entry = entry_at(generation, choice, place);
        if (place > 0)
            buffer_append_byte(out, ',');
        write_chat_value(out, generation, &entry.values[0]);
        buffer_append_text(out, ",\"top_logprobs\":[");
        for (uint32_t top = 1; top <= entry.top_count; top++) {
            if (top > 1)
                buffer_append_byte(out, ',');
            write_chat_value(out, generation, &entry.values[top]);
            buffer_append_byte(out, '}');
        }
        buffer_append_text(out, "]}");
    }
    buffer_append_text(out, "],\"refusal\":null}");
}

void answer_logprobs(struct buffer *out, const struct generation *generation,
                     const struct choice *choice)
{
    if (generation->format.kind == ANSWER_CHAT)
        write_chat(out, generation, choice);
    else
        write_legacy(out, generation, choice);
}
