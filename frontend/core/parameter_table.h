/* parameter_table.h - the parameters of a request, one row each. Of generation_request.c.
 */
#ifndef ROPEWAY_FRONTEND_CORE_PARAMETER_TABLE_H
#define ROPEWAY_FRONTEND_CORE_PARAMETER_TABLE_H

#include "frontend/core/generation_request.h"

enum parameter_kind {
    PARAMETER_F32,
    PARAMETER_U8,
    PARAMETER_U32,
    PARAMETER_I32,
    PARAMETER_I64,
    PARAMETER_BOOL,
    PARAMETER_SPECIAL,    /* read by a function of its own */
    PARAMETER_UNSUPPORTED /* refused unless absent, null or false */
};

struct parameter {
    const char *name;
    unsigned endpoints; /* of enum answer_kind */
    enum parameter_kind kind;
    double min, max; /* of numbers, both allowed */
    bool min_excluded;
    size_t offset; /* in struct generation_request */
    enum status (*read)(struct generation_request *request, const char *name,
                        const json_t *value, const struct request_limits *limits,
                        struct fault *fault);
};

extern const struct parameter parameter_table[];
extern const size_t parameter_table_count;

/* The functions of the special rows. */
typedef enum status parameter_reader(struct generation_request *request, const char *name,
                                     const json_t *value,
                                     const struct request_limits *limits,
                                     struct fault *fault);
parameter_reader parameter_model;
parameter_reader parameter_seed;
parameter_reader parameter_stop;
parameter_reader parameter_stop_token_ids;
parameter_reader parameter_logit_bias;
parameter_reader parameter_stream_options;
parameter_reader parameter_chat_logprobs;
parameter_reader parameter_legacy_logprobs;
parameter_reader parameter_response_format;
parameter_reader parameter_cache_salt;
parameter_reader parameter_timeout;
parameter_reader parameter_user;
parameter_reader parameter_prompt;
parameter_reader parameter_messages;
parameter_reader parameter_tools;
parameter_reader parameter_tool_choice;
parameter_reader parameter_documents;
parameter_reader parameter_template_arguments;

/* A token id of a JSON value, or STATUS_INVALID. */
enum status parameter_token(const char *name, const json_t *value,
                            const struct request_limits *limits, uint32_t *token,
                            struct fault *fault);

#endif
