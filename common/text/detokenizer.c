#include "common/text/detokenizer.h"

#include "common/text/utf8.h"

void detokenizer_init(struct detokenizer *detokenizer, const struct tokenizer *tokenizer,
                      bool special, bool at_start)
{
    *detokenizer = (struct detokenizer){
        .tokenizer = tokenizer,
        .special = special,
        .at_start = at_start && tokenizer_adds_space_prefix(tokenizer),
    };
}

static void drop_held(struct detokenizer *detokenizer, uint8_t count)
{
    detokenizer->held_count -= count;
    memmove(detokenizer->held, detokenizer->held + count, detokenizer->held_count);
}

/* Writes what is held, up to what may still become a character. */
static void settle(struct detokenizer *detokenizer, struct buffer *text)
{
    while (detokenizer->held_count > 0) {
        struct span held = {detokenizer->held, detokenizer->held_count};
        struct utf8_step step = utf8_next(held);
        if (step.kind == UTF8_CUT)
            return;
        if (step.kind == UTF8_WHOLE)
            buffer_append(text, held.data, step.size);
        else
            buffer_append_span(text, UTF8_REPLACEMENT);
        drop_held(detokenizer, step.size);
    }
}

void detokenizer_push(struct detokenizer *detokenizer, uint32_t id, struct buffer *text)
{
    struct span bytes =
        tokenizer_token_bytes(detokenizer->tokenizer, id, detokenizer->special);
    /* Control tokens before the text, such as BOS, do not end its beginning. */
    if (detokenizer->at_start && bytes.size > 0 &&
        !tokenizer_is_control(detokenizer->tokenizer, id)) {
        detokenizer->at_start = false;
        bool space = bytes.data[0] == ' ';
        bytes.data += space;
        bytes.size -= space;
    }
    for (size_t i = 0; i < bytes.size; i++) {
        detokenizer->held[detokenizer->held_count++] = bytes.data[i];
        settle(detokenizer, text);
    }
}

void detokenizer_finish(struct detokenizer *detokenizer, struct buffer *text)
{
    if (detokenizer->held_count > 0)
        buffer_append_span(text, UTF8_REPLACEMENT);
    detokenizer->held_count = 0;
}
