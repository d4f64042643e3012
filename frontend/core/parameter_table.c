#include "frontend/core/parameter_table.h"

#define BOTH (ANSWER_COMPLETION | ANSWER_CHAT)

#define REQUEST(member)  offsetof(struct generation_request, member)
#define SAMPLING(member) offsetof(struct generation_request, sampling.member)

#define NUMBER(name, on, kind, min, max, where)                                          \
    {                                                                                    \
        name, on, PARAMETER_##kind, min, max, false, where, NULL                         \
    }
#define ABOVE(name, on, kind, min, max, where)                                           \
    {                                                                                    \
        name, on, PARAMETER_##kind, min, max, true, where, NULL                          \
    }
#define FLAG(name, on, where)                                                            \
    {                                                                                    \
        name, on, PARAMETER_BOOL, 0, 1, false, where, NULL                               \
    }
#define SPECIAL(name, on, reader)                                                        \
    {                                                                                    \
        name, on, PARAMETER_SPECIAL, 0, 0, false, 0, reader                              \
    }
#define UNSUPPORTED(name, on)                                                            \
    {                                                                                    \
        name, on, PARAMETER_UNSUPPORTED, 0, 0, false, 0, NULL                            \
    }

/* Bounds are OpenAI's where it publishes one, else vLLM's; but a repetition penalty near
 * 0 would make infinities of logits. Logprobs come before what depends on them. */
const struct parameter parameter_table[] = {
    SPECIAL("model", BOTH, parameter_model),
    NUMBER("temperature", BOTH, F32, 0, 2, SAMPLING(temperature)),
    ABOVE("top_p", BOTH, F32, 0, 1, SAMPLING(top_p)),
    NUMBER("min_p", BOTH, F32, 0, 1, SAMPLING(min_p)),
    NUMBER("top_k", BOTH, I32, -1, INT32_MAX, SAMPLING(top_k)),
    NUMBER("repetition_penalty", BOTH, F32, 0.01, 2, SAMPLING(repetition_penalty)),
    NUMBER("presence_penalty", BOTH, F32, -2, 2, SAMPLING(presence_penalty)),
    NUMBER("frequency_penalty", BOTH, F32, -2, 2, SAMPLING(frequency_penalty)),
    NUMBER("min_tokens", BOTH, U32, 0, INT32_MAX, SAMPLING(min_tokens)),
    FLAG("ignore_eos", BOTH, SAMPLING(ignore_end)),
    SPECIAL("seed", BOTH, parameter_seed),
    NUMBER("max_tokens", BOTH, U32, 1, INT32_MAX, REQUEST(max_tokens)),
    NUMBER("max_completion_tokens", ANSWER_CHAT, U32, 1, INT32_MAX, REQUEST(max_tokens)),
    NUMBER("n", BOTH, U32, 1, CHOICES_MAX, REQUEST(choices_per_prompt)),
    NUMBER("best_of", ANSWER_COMPLETION, U32, 1, CHOICES_MAX, REQUEST(best_of)),
    NUMBER("priority", BOTH, I64, INT32_MIN, INT32_MAX, REQUEST(priority)),
    SPECIAL("cache_salt", BOTH, parameter_cache_salt),
    SPECIAL("timeout", BOTH, parameter_timeout),
    FLAG("stream", BOTH, REQUEST(stream)),
    SPECIAL("stream_options", BOTH, parameter_stream_options),
    FLAG("echo", ANSWER_COMPLETION, REQUEST(echo)),
    SPECIAL("stop", BOTH, parameter_stop),
    SPECIAL("stop_token_ids", BOTH, parameter_stop_token_ids),
    SPECIAL("logit_bias", BOTH, parameter_logit_bias),
    SPECIAL("logprobs", ANSWER_COMPLETION, parameter_legacy_logprobs),
    SPECIAL("logprobs", ANSWER_CHAT, parameter_chat_logprobs),
    NUMBER("top_logprobs", ANSWER_CHAT, U8, 0, TOP_LOGPROBS_MAX, SAMPLING(top_logprobs)),
    SPECIAL("response_format", BOTH, parameter_response_format),
    SPECIAL("user", BOTH, parameter_user),
    SPECIAL("prompt", ANSWER_COMPLETION, parameter_prompt),
    SPECIAL("messages", ANSWER_CHAT, parameter_messages),
    SPECIAL("tools", ANSWER_CHAT, parameter_tools),
    SPECIAL("tool_choice", ANSWER_CHAT, parameter_tool_choice),
    SPECIAL("documents", ANSWER_CHAT, parameter_documents),
    SPECIAL("chat_template_kwargs", ANSWER_CHAT, parameter_template_arguments),
    FLAG("add_generation_prompt", ANSWER_CHAT, REQUEST(add_generation_prompt)),
    UNSUPPORTED("suffix", ANSWER_COMPLETION),
    UNSUPPORTED("prompt_logprobs", BOTH),
    UNSUPPORTED("continue_final_message", ANSWER_CHAT),
    UNSUPPORTED("functions", ANSWER_CHAT),
    UNSUPPORTED("function_call", ANSWER_CHAT),
    UNSUPPORTED("audio", ANSWER_CHAT),
    UNSUPPORTED("structured_outputs", BOTH),
    UNSUPPORTED("guided_json", BOTH),
    UNSUPPORTED("guided_regex", BOTH),
    UNSUPPORTED("guided_choice", BOTH),
    UNSUPPORTED("guided_grammar", BOTH),
    UNSUPPORTED("use_beam_search", BOTH),
};

const size_t parameter_table_count = sizeof parameter_table / sizeof parameter_table[0];
