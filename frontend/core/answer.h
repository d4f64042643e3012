/* answer.h - a generation's answer as OpenAI's JSON, whole or as server-sent events.
 *
 * Layer:    frontend/core (pure).
 * Streams:  a chat's first chunk of each choice gives its role; then text as it becomes
 *           certain; exactly one chunk of each choice has a finish_reason; with
 *           include_usage every chunk has usage null but one more, of no choices, that
 *           comes last; then [DONE]. A failure is a chunk {"error":…} before [DONE].
 * Reasons:  finish_reason is stop or length; abort or error, as in vLLM, for what did not
 *           end well.
 */
#ifndef ROPEWAY_FRONTEND_CORE_ANSWER_H
#define ROPEWAY_FRONTEND_CORE_ANSWER_H

#include "frontend/core/generation.h"

/* The first events, once the scheduler has accepted every choice. */
void answer_stream_begin(struct buffer *out, const struct generation *generation);

/* One event with what is new of a choice, if anything is, which is then forgotten. */
void answer_stream_choice(struct buffer *out, struct generation *generation,
                          uint32_t index);

/* The last events, once the generation has finished or failed. */
void answer_stream_end(struct buffer *out, const struct generation *generation);

/* The whole answer; the generation has finished and has no fault. */
void answer_whole(struct buffer *out, const struct generation *generation);

/* answer_logprobs.c: a choice's logprobs in the form of its endpoint. */
void answer_logprobs(struct buffer *out, const struct generation *generation,
                     const struct choice *choice);

#endif
