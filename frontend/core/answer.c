#include "frontend/core/answer.h"

#include "common/base/invariant.h"
#include "frontend/core/json_text.h"
#include "frontend/core/openai_error.h"

struct answer_words {
    const char *whole_object, *chunk_object;
};

static const struct answer_words words[] = {
    [ANSWER_COMPLETION] = {"text_completion", "text_completion"},
    [ANSWER_CHAT] = {"chat.completion", "chat.completion.chunk"},
};

static const char *finish_word(enum finish_reason reason)
{
    switch (reason) {
    case FINISH_STOP:
        return "stop";
    case FINISH_LENGTH:
        return "length";
    case FINISH_FAILED:
        return "error";
    default:
        return "abort";
    }
}

/* {"id":…,"object":…,"created":…,"model":…,"choices":[ */
static void write_head(struct buffer *out, const struct answer_format *format,
                       const char *object)
{
    buffer_append_text(out, "{\"id\":");
    json_text_string(out, format->id);
    buffer_append_format(out, ",\"object\":\"%s\",\"created\":%lld,\"model\":", object,
                         (long long)format->created_unix_s);
    json_text_string(out, format->model);
    buffer_append_text(out, ",\"choices\":[");
}

static void write_finish(struct buffer *out, const struct choice *choice)
{
    if (choice->finished)
        buffer_append_format(out, ",\"finish_reason\":\"%s\"}",
                             finish_word(choice->finish_reason));
    else
        buffer_append_text(out, ",\"finish_reason\":null}");
}

static void write_logprobs(struct buffer *out, const struct generation *generation,
                           const struct choice *choice)
{
    buffer_append_text(out, ",\"logprobs\":");
    if (generation->format.logprobs && choice->logprobs.size > 0)
        answer_logprobs(out, generation, choice);
    else
        buffer_append_text(out, "null");
}

/* A choice of a prompt counts the prompt once, however many choices it has. */
static void write_usage(struct buffer *out, const struct generation *generation)
{
    uint64_t prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
    for (uint32_t index = 0; index < generation->choices_count; index++) {
        const struct choice *choice = &generation->choices[index];
        completion_tokens += choice->tokens_count;
        if (index % generation->format.choices_per_prompt == 0) {
            prompt_tokens += choice->prompt_tokens_count;
            cached_tokens += choice->cached_tokens_count;
        }
    }
    uint64_t total_tokens = prompt_tokens + completion_tokens;
    buffer_append_format(
        out,
        "{\"prompt_tokens\":%llu,\"completion_tokens\":%llu,"
        "\"total_tokens\":%llu,\"prompt_tokens_details\":"
        "{\"cached_tokens\":%llu}}",
        (unsigned long long)prompt_tokens, (unsigned long long)completion_tokens,
        (unsigned long long)total_tokens, (unsigned long long)cached_tokens);
}

/* --- streams --------------------------------------------------------------------- */

static void begin_chunk(struct buffer *out, const struct generation *generation)
{
    const struct answer_format *format = &generation->format;
    buffer_append_text(out, "data: ");
    write_head(out, format, words[format->kind].chunk_object);
}

/* After the choices. */
static void end_chunk(struct buffer *out, const struct generation *generation)
{
    buffer_append_text(out, generation->format.include_usage ? "],\"usage\":null}\n\n"
                                                             : "]}\n\n");
}

static void write_delta(struct buffer *out, const struct generation *generation,
                        const struct choice *choice, uint32_t index)
{
    struct span text = buffer_span(&choice->text);
    buffer_append_format(out, "{\"index\":%u,", index);
    if (generation->format.kind == ANSWER_COMPLETION) {
        json_text_key(out, "text");
        json_text_string(out, text);
    } else {
        buffer_append_text(out,
                           text.size > 0 ? "\"delta\":{\"content\":" : "\"delta\":{");
        if (text.size > 0)
            json_text_string(out, text);
        buffer_append_byte(out, '}');
    }
    write_logprobs(out, generation, choice);
    write_finish(out, choice);
}

void answer_stream_begin(struct buffer *out, const struct generation *generation)
{
    if (generation->format.kind != ANSWER_CHAT)
        return;
    for (uint32_t index = 0; index < generation->choices_count; index++) {
        begin_chunk(out, generation);
        buffer_append_format(
            out,
            "{\"index\":%u,\"delta\":{\"role\":\"assistant\","
            "\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}",
            index);
        end_chunk(out, generation);
    }
}

void answer_stream_choice(struct buffer *out, struct generation *generation,
                          uint32_t index)
{
    struct choice *choice = &generation->choices[index];
    bool has_news =
        choice->text.size > 0 || choice->logprobs.size > 0 || choice->finished;
    if (choice->finish_written || !has_news)
        return;
    begin_chunk(out, generation);
    write_delta(out, generation, choice, index);
    end_chunk(out, generation);
    choice->finish_written = choice->finished;
    buffer_clear(&choice->text);
    buffer_clear(&choice->logprobs);
    buffer_clear(&choice->text_offsets);
}

void answer_stream_end(struct buffer *out, const struct generation *generation)
{
    if (generation->fault.status != STATUS_OK) {
        buffer_append_text(out, "data: ");
        openai_error_write(out, &generation->fault);
        buffer_append_text(out, "\n\n");
    } else if (generation->format.include_usage) {
        begin_chunk(out, generation);
        buffer_append_text(out, "],\"usage\":");
        write_usage(out, generation);
        buffer_append_text(out, "}\n\n");
    }
    buffer_append_text(out, "data: [DONE]\n\n");
}

/* --- whole answers --------------------------------------------------------------- */

static void write_choice(struct buffer *out, const struct generation *generation,
                         uint32_t index)
{
    const struct choice *choice = &generation->choices[index];
    buffer_append_format(out, index ? ",{\"index\":%u," : "{\"index\":%u,", index);
    if (generation->format.kind == ANSWER_COMPLETION) {
        json_text_key(out, "text");
        json_text_string(out, buffer_span(&choice->text));
    } else {
        buffer_append_text(out, "\"message\":{\"role\":\"assistant\",\"content\":");
        json_text_string(out, buffer_span(&choice->text));
        buffer_append_text(out, ",\"refusal\":null}");
    }
    write_logprobs(out, generation, choice);
    write_finish(out, choice);
}

void answer_whole(struct buffer *out, const struct generation *generation)
{
    const struct answer_format *format = &generation->format;
    INVARIANT(generation_finished(generation));
    write_head(out, format, words[format->kind].whole_object);
    for (uint32_t index = 0; index < generation->choices_count; index++)
        write_choice(out, generation, index);
    buffer_append_text(out, "],\"usage\":");
    write_usage(out, generation);
    buffer_append_byte(out, '}');
}
