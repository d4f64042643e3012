#include "frontend/core/generation.h"

#include "common/base/invariant.h"
#include <stdlib.h>

/* A token's text, before the stop matcher has seen it. */
#define PIECE_BYTES_MAX (1u << 20)

static void choice_init(struct choice *choice, const struct generation *generation)
{
    const struct answer_format *format = &generation->format;
    *choice = (struct choice){.finish_reason = FINISH_NONE};
    detokenizer_init(&choice->detokenizer, generation->tokenizer, false, false);
    stop_matcher_init(&choice->matcher, generation->format.stops, format->stops_count);
    buffer_init(&choice->text, CHOICE_TEXT_BYTES_MAX);
    buffer_init(&choice->logprobs, CHOICE_TEXT_BYTES_MAX);
    buffer_init(&choice->text_offsets, CHOICE_TEXT_BYTES_MAX);
}

static void choice_fini(struct choice *choice)
{
    stop_matcher_fini(&choice->matcher);
    buffer_fini(&choice->text);
    buffer_fini(&choice->logprobs);
    buffer_fini(&choice->text_offsets);
}

bool generation_init(struct generation *generation, const struct tokenizer *tokenizer,
                     const struct answer_format *format, uint32_t choices_count)
{
    INVARIANT(choices_count >= 1 && choices_count <= CHOICES_MAX);
    *generation = (struct generation){
        .tokenizer = tokenizer, .format = *format, .choices_count = choices_count};
    generation->choices = calloc(choices_count, sizeof *generation->choices);
    if (!generation->choices)
        return false;
    for (uint32_t index = 0; index < choices_count; index++)
        choice_init(&generation->choices[index], generation);
    return true;
}

void generation_fini(struct generation *generation)
{
    for (uint32_t index = 0; generation->choices && index < generation->choices_count;
         index++)
        choice_fini(&generation->choices[index]);
    free(generation->choices);
    *generation = (struct generation){0};
}

/* Characters are counted by their first bytes. */
static uint32_t characters_in(struct span text)
{
    uint32_t count = 0;
    for (size_t at = 0; at < text.size; at++)
        count += ((unsigned char)text.data[at] & 0xC0) != 0x80;
    return count;
}

void generation_echo(struct generation *generation, uint32_t index, struct span text)
{
    struct choice *choice = &generation->choices[index];
    buffer_append_span(&choice->text, text);
    choice->characters_count += characters_in(text);
}

static void finish(struct generation *generation, struct choice *choice,
                   enum finish_reason reason)
{
    choice->finished = true;
    choice->finish_reason = reason;
    generation->finished_count++;
}

static void take_logprobs(struct generation *generation, struct choice *choice,
                          const struct poll_event *event, uint32_t place)
{
    uint32_t per_token = 1u + generation->format.top_logprobs;
    size_t size = per_token * sizeof(struct logprob);
    size_t offset = place * (size_t)event->logprobs_per_token * sizeof(struct logprob);
    if (!generation->format.logprobs || event->logprobs_per_token < per_token ||
        offset + size > event->logprobs.size)
        return;
    buffer_append(&choice->logprobs, event->logprobs.data + offset, size);
    buffer_append(&choice->text_offsets, &choice->characters_count,
                  sizeof choice->characters_count);
}

/* Gives text to the matcher. True when a stop string has ended the choice. */
static bool push_text(struct choice *choice, struct buffer *piece)
{
    choice->characters_count += characters_in(buffer_span(piece));
    return stop_matcher_push(&choice->matcher, buffer_span(piece), &choice->text);
}

/* True when the token completed a stop string. */
static bool take_token(struct choice *choice, uint32_t token)
{
    struct buffer piece;
    buffer_init(&piece, PIECE_BYTES_MAX);
    detokenizer_push(&choice->detokenizer, token, &piece);
    bool stopped = push_text(choice, &piece);
    buffer_fini(&piece);
    return stopped;
}

/* The end: what was held back is text after all, unless it completes a stop string. */
static void take_end(struct generation *generation, struct choice *choice,
                     const struct poll_event *event)
{
    struct buffer piece;
    buffer_init(&piece, PIECE_BYTES_MAX);
    detokenizer_finish(&choice->detokenizer, &piece);
    bool stopped = push_text(choice, &piece);
    buffer_fini(&piece);
    if (!stopped)
        stop_matcher_finish(&choice->matcher, &choice->text);
    finish(generation, choice, (enum finish_reason)event->finish_reason);
}

static void note_failure(struct generation *generation, const struct poll_event *event)
{
    if (generation->fault.status != STATUS_OK)
        return;
    switch (event->finish_reason) {
    case FINISH_FAILED:
        fault_set(&generation->fault,
                  event->failure == STATUS_OK ? STATUS_INTERNAL : event->failure, NULL,
                  "%.*s", (int)event->sentence.size,
                  event->sentence.size ? event->sentence.data : "");
        break;
    case FINISH_TIMED_OUT:
        fault_set(&generation->fault, STATUS_TIMEOUT, NULL,
                  "The request's time was over before it was whole.");
        break;
    case FINISH_CANCELLED:
        fault_set(&generation->fault, STATUS_UNAVAILABLE, NULL,
                  "The request was cancelled by the server.");
        break;
    default:
        break;
    }
}

/* An answer with a hole in it is none. */
static void note_loss(struct generation *generation, const struct choice *choice)
{
    bool is_lost =
        choice->text.failed || choice->logprobs.failed || choice->text_offsets.failed;
    if (is_lost && generation->fault.status == STATUS_OK)
        fault_set(&generation->fault, STATUS_NO_SPACE, NULL,
                  "There is no memory for the answer.");
}

/* Takes the event's tokens that are new. True when a stop string ended the choice. */
static bool take_tokens(struct generation *generation, struct choice *choice,
                        const struct poll_event *event)
{
    size_t count = wire_u32_count(event->tokens);
    for (size_t place = choice->tokens_count - event->from; place < count; place++) {
        bool ends = event->finish_reason == FINISH_STOP && place + 1 == count;
        take_logprobs(generation, choice, event, (uint32_t)place);
        choice->tokens_count++;
        if (!ends && take_token(choice, wire_u32(event->tokens, place)))
            return true;
    }
    return false;
}

enum take_result generation_take(struct generation *generation, uint32_t index,
                                 const struct poll_event *event)
{
    INVARIANT(index < generation->choices_count);
    struct choice *choice = &generation->choices[index];
    if (choice->finished)
        return TAKE_NOTHING;
    if (event->from > choice->tokens_count)
        return TAKE_OUT_OF_STEP;
    uint32_t had = choice->tokens_count;
    choice->prompt_tokens_count = event->prompt_tokens_count;
    choice->cached_tokens_count = event->cached_tokens_count;
    bool is_over = event->state == REQUEST_DONE;
    bool stopped = take_tokens(generation, choice, event);
    note_loss(generation, choice);
    if (stopped) {
        finish(generation, choice, FINISH_STOP);
        return is_over ? TAKE_NEWS : TAKE_STOPPED;
    }
    if (is_over) {
        take_end(generation, choice, event);
        note_failure(generation, event);
        return TAKE_NEWS;
    }
    return choice->tokens_count > had ? TAKE_NEWS : TAKE_NOTHING;
}
