/* generation.h - tokens to text, for every choice of one request: the one state machine
 * behind both endpoints, streaming or not.
 *
 * Layer:   frontend/core (pure; allocates).
 * Life:    events of the scheduler go in by generation_take; answer.h reads what is
 *          ready.
 * Rules:   a token is taken exactly once, by its index; text that may be the beginning of
 *          a stop string is held back; the token that completes a stop string counts, and
 *          nothing after it; an end token counts and shows no text; a choice finishes
 *          exactly once and takes nothing afterwards.
 */
#ifndef ROPEWAY_FRONTEND_CORE_GENERATION_H
#define ROPEWAY_FRONTEND_CORE_GENERATION_H

#include "common/text/detokenizer.h"
#include "common/text/stop_matcher.h"
#include "frontend/core/client_blob.h"
#include "proto/message.h"

/* 2^20 tokens, the longest context, of 64 bytes each. */
#define CHOICE_TEXT_BYTES_MAX (64u << 20)

struct choice {
    struct detokenizer detokenizer;
    struct stop_matcher matcher;
    struct buffer text;         /* certain, and not written into an answer yet */
    struct buffer logprobs;     /* struct logprob[tokens][1 + top_logprobs], likewise */
    struct buffer text_offsets; /* u32 each: characters of text before the token */
    uint32_t characters_count;  /* of all text so far, held text too */
    uint32_t tokens_count;      /* generated tokens taken */
    uint32_t prompt_tokens_count;
    uint32_t cached_tokens_count;
    enum finish_reason finish_reason;
    bool finished;
    bool finish_written;
};

struct generation {
    const struct tokenizer *tokenizer;
    struct answer_format format;
    struct choice *choices; /* prompt-major: index = prompt x n + j */
    uint32_t choices_count;
    uint32_t finished_count;
    struct fault fault; /* of the first choice that failed; status OK: none did */
};

/* What an event changed. */
enum take_result {
    TAKE_NOTHING,    /* told before, or the choice had finished */
    TAKE_NEWS,       /* text, logprobs or the finish may be written */
    TAKE_STOPPED,    /* a stop string ended it: the scheduler must be told */
    TAKE_OUT_OF_STEP /* tokens are missing: the scheduler must be asked from our place */
};

/* format's spans must outlive the generation. False when memory is out. */
bool generation_init(struct generation *generation, const struct tokenizer *tokenizer,
                     const struct answer_format *format, uint32_t choices_count);
void generation_fini(struct generation *generation);

/* index < choices_count. */
enum take_result generation_take(struct generation *generation, uint32_t index,
                                 const struct poll_event *event);

/* Text that stands before the generated: echo's prompt. */
void generation_echo(struct generation *generation, uint32_t index, struct span text);

static inline bool generation_finished(const struct generation *generation)
{
    return generation->finished_count == generation->choices_count;
}

#endif
