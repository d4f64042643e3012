/* generation_request.h - what a client asks for, read from its JSON and checked in full.
 *
 * Layer:   frontend/core (pure; jansson).
 * Table:   parameter_table.c has one row a parameter: name, endpoints, kind, bounds,
 *          where it goes. To add a sampling parameter, add a row.
 * Rules:   null is the same as absent. Fields that no row knows are ignored, as OpenAI's
 *          servers do; fields that would change the answer and that we cannot honour are
 *          rows of their own and refused. top_p 0 is refused; a temperature below 1e-5 is
 *          greedy. An absent model is the served one. Every error names its field.
 */
#ifndef ROPEWAY_FRONTEND_CORE_GENERATION_REQUEST_H
#define ROPEWAY_FRONTEND_CORE_GENERATION_REQUEST_H

#include "common/base/span.h"
#include "common/base/status.h"
#include "common/text/stop_matcher.h"
#include "proto/kv_layout.h"
#include <jansson.h>

#define CHOICES_MAX 128 /* prompts times n; OpenAI's bound of n */

enum answer_kind { ANSWER_COMPLETION = 1, ANSWER_CHAT = 2 };

struct prompt {
    struct span text; /* of a string; data NULL for tokens */
    uint32_t *tokens; /* of an array of ids, owned; NULL for a string */
    size_t tokens_count;
};

struct generation_request {
    enum answer_kind kind;
    json_t *root; /* owned; texts borrow from it */

    struct sampling sampling;
    bool has_seed;
    uint32_t max_tokens; /* 0: not given */
    uint32_t choices_per_prompt;
    uint32_t best_of; /* 0: not given */
    uint32_t timeout_ms;
    int64_t priority;
    struct span cache_salt; /* empty: not given */
    bool stream, include_usage, has_stream_options;
    bool echo;

    struct span stops[STOP_STRINGS_MAX];
    uint32_t stops_count;
    uint32_t stop_tokens[STOP_TOKENS_MAX];
    uint32_t stop_tokens_count;
    struct logit_bias biases[LOGIT_BIAS_MAX];
    uint32_t biases_count;

    /* completions */
    struct prompt *prompts; /* owned */
    uint32_t prompts_count;

    /* chat */
    const json_t *messages; /* checked by chat.h */
    const json_t *tools, *documents, *template_arguments;
    bool add_generation_prompt;
};

/* What a request is checked against. */
struct request_limits {
    const char *model_name;
    uint32_t vocabulary_count;
};

/* Takes root over, also on failure; generation_request_fini afterwards in either case. */
enum status generation_request_read(struct generation_request *request,
                                    enum answer_kind kind, json_t *root,
                                    const struct request_limits *limits,
                                    struct fault *fault);
void generation_request_fini(struct generation_request *request);

#endif
