#include "tools/bench/answer.h"

#include "common/base/time_units.h"
#include <jansson.h>
#include <string.h>

static const struct {
    const char *name, *meaning;
} failures[FAILURES_COUNT] = {
#define FAILURE_ROW(name, word, meaning) {word, meaning},
    FAILURE_TABLE(FAILURE_ROW)
#undef FAILURE_ROW
};

const char *failure_name(enum failure failure)
{
    return failures[failure].name;
}

const char *failure_meaning(enum failure failure)
{
    return failures[failure].meaning;
}

enum failure failure_of_http(unsigned http_status)
{
    if (http_status == 429 || http_status == 503)
        return FAILURE_OVERLOADED;
    return http_status >= 500 ? FAILURE_SERVER : FAILURE_REFUSED;
}

void answer_begin(struct answer *answer, uint64_t now_ns)
{
    *answer = (struct answer){.sent_ns = now_ns};
}

/* Text of any kind that a person would see: a completion's, a message's, its reasoning.
 */
static bool has_text(json_t *choice)
{
    static const char *const fields[] = {"content", "reasoning_content", "reasoning"};
    json_t *delta = json_object_get(choice, "delta");
    if (json_string_length(json_object_get(choice, "text")) > 0)
        return true;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (json_string_length(json_object_get(delta, fields[i])) > 0)
            return true;
    return json_array_size(json_object_get(delta, "tool_calls")) > 0;
}

static bool any_text(json_t *event)
{
    json_t *choice;
    size_t index;
    json_array_foreach (json_object_get(event, "choices"), index, choice)
        if (has_text(choice))
            return true;
    return false;
}

static void take_usage(struct answer *answer, json_t *event)
{
    json_t *usage = json_object_get(event, "usage");
    json_t *completion = json_object_get(usage, "completion_tokens");
    json_t *prompt = json_object_get(usage, "prompt_tokens");
    if (!json_is_integer(completion) || !json_is_integer(prompt) ||
        json_integer_value(completion) < 0 || json_integer_value(prompt) < 0)
        return;
    answer->has_usage = true;
    answer->completion_tokens = (uint64_t)json_integer_value(completion);
    answer->prompt_tokens = (uint64_t)json_integer_value(prompt);
}

static void take_text(struct answer *answer, uint64_t now_ns, struct samples *gaps)
{
    if (answer->chunks_count++ == 0)
        answer->first_ns = now_ns;
    else
        samples_add(gaps, (double)(now_ns - answer->last_ns) / NS_PER_MS);
    answer->last_ns = now_ns;
}

void answer_event(struct answer *answer, struct span data, uint64_t now_ns,
                  struct samples *gaps)
{
    if (span_equal(data, SPAN_LITERAL("[DONE]"))) {
        answer->done = true;
        return;
    }
    json_t *event = json_loadb(data.data, data.size, 0, NULL);
    if (!json_is_object(event)) {
        answer->failure = FAILURE_MALFORMED;
    } else if (json_is_object(json_object_get(event, "error"))) {
        answer->failure = FAILURE_STREAM_ERROR;
    } else {
        take_usage(answer, event);
        if (any_text(event))
            take_text(answer, now_ns, gaps);
    }
    json_decref(event);
}

enum failure answer_verdict(const struct answer *answer)
{
    if (answer->failure != FAILURE_NONE)
        return answer->failure;
    if (!answer->done)
        return FAILURE_CUT;
    if (answer->chunks_count == 0)
        return FAILURE_EMPTY;
    if (!answer->has_usage)
        return FAILURE_NO_USAGE;
    return answer->completion_tokens != 0 ? FAILURE_NONE : FAILURE_EMPTY;
}
