#include "frontend/core/chat.h"

#include "common/base/buffer.h"
#include "frontend/core/json_body.h"
#include "frontend/core/parameter_table.h"

#define ROLE_BYTES_MAX 64

static enum status refuse(struct fault *fault, size_t index, const char *what)
{
    char param[FAULT_PARAM_BYTES];
    snprintf(param, sizeof param, "messages[%zu]", index);
    return fault_set(fault, STATUS_INVALID, param, "messages[%zu]%s", index, what);
}

static enum status check_parts(const json_t *content, size_t index, struct fault *fault)
{
    for (size_t place = 0; place < json_array_size(content); place++) {
        const json_t *part = json_array_get(content, place);
        const char *type = json_string_value(json_object_get(part, "type"));
        if (!type)
            return refuse(fault, index, ".content must hold objects with a type.");
        if (strcmp(type, "text") != 0)
            return refuse(fault, index,
                          ".content may have parts of the type 'text' only.");
        if (!json_is_string(json_object_get(part, "text")))
            return refuse(fault, index, ".content has a text part without a text.");
    }
    return STATUS_OK;
}

static enum status check_message(const json_t *message, size_t index, struct fault *fault)
{
    const json_t *role = json_object_get(message, "role");
    const json_t *content = json_object_get(message, "content");
    const json_t *calls = json_object_get(message, "tool_calls");
    if (!json_is_object(message))
        return refuse(fault, index, " must be an object.");
    if (!json_is_string(role) || json_string_length(role) == 0 ||
        json_string_length(role) > ROLE_BYTES_MAX)
        return refuse(fault, index, ".role must be a string.");
    if (calls && !json_is_null(calls) && !json_is_array(calls))
        return refuse(fault, index, ".tool_calls must be an array.");
    if (json_is_array(content))
        return check_parts(content, index, fault);
    bool has_calls = json_array_size(calls) > 0;
    if (!content || json_is_null(content))
        return has_calls ? STATUS_OK : refuse(fault, index, ".content is missing.");
    return json_is_string(content)
               ? STATUS_OK
               : refuse(fault, index, ".content must be a string or an array of parts.");
}

static enum status check_messages(const json_t *messages, struct fault *fault)
{
    if (!json_is_array(messages) || json_array_size(messages) == 0 ||
        json_array_size(messages) > MESSAGES_MAX)
        return fault_set(fault, STATUS_INVALID, "messages",
                         "messages must be an array of 1 to %d messages.", MESSAGES_MAX);
    for (size_t index = 0; index < json_array_size(messages); index++) {
        enum status status = check_message(json_array_get(messages, index), index, fault);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status parameter_messages(struct generation_request *request, const char *name,
                               const json_t *value, const struct request_limits *limits,
                               struct fault *fault)
{
    (void)name;
    (void)limits;
    request->messages = value;
    return check_messages(value, fault);
}

static json_t *text_of_parts(const json_t *parts)
{
    struct buffer joined;
    buffer_init(&joined, SIZE_MAX);
    for (size_t place = 0; place < json_array_size(parts); place++) {
        if (place > 0)
            buffer_append_byte(&joined, '\n');
        const json_t *part = json_array_get(parts, place);
        buffer_append_span(&joined, json_body_text(json_object_get(part, "text")));
    }
    json_t *text =
        joined.failed ? NULL : json_stringn(joined.size ? joined.data : "", joined.size);
    buffer_fini(&joined);
    return text;
}

static json_t *content_text(const json_t *content)
{
    if (json_is_string(content))
        return json_copy((json_t *)content);
    return json_is_array(content) ? text_of_parts(content) : json_string("");
}

/* {"function":{"arguments":"{…}"}} becomes {"function":{"arguments":{…}}}. */
static void parse_arguments(json_t *call)
{
    json_t *function = json_object_get(call, "function");
    const json_t *arguments = json_object_get(function, "arguments");
    struct fault ignored;
    json_t *parsed;
    if (json_is_string(arguments) &&
        json_body_parse(json_body_text(arguments), &parsed, &ignored) == STATUS_OK)
        json_object_set_new(function, "arguments", parsed);
}

static json_t *normal_message(const json_t *message)
{
    json_t *copy = json_deep_copy(message);
    if (!copy)
        return NULL;
    json_object_set_new(copy, "content",
                        content_text(json_object_get(message, "content")));
    json_t *calls = json_object_get(copy, "tool_calls");
    for (size_t place = 0; place < json_array_size(calls); place++)
        parse_arguments(json_array_get(calls, place));
    return copy;
}

static void set_text(json_t *context, const char *name, struct span text)
{
    json_object_set_new(context, name,
                        json_stringn(text.size ? text.data : "", text.size));
}

/* The client's variables, before ours, which they must not hide. The names of special
 * tokens are not theirs to set: their text is taken for the template's own. */
static void set_arguments(json_t *context, const json_t *arguments)
{
    static const char *const reserved[] = {"bos_token", "eos_token", "unk_token",
                                           "pad_token", "sep_token", "cls_token",
                                           "mask_token"};
    if (arguments)
        json_object_update(context, (json_t *)arguments);
    for (size_t place = 0; place < sizeof reserved / sizeof reserved[0]; place++)
        json_object_del(context, reserved[place]);
}

char *chat_context(const struct generation_request *request, struct span bos_token,
                   struct span eos_token)
{
    json_t *context = json_object();
    json_t *messages = json_array();
    for (size_t index = 0; index < json_array_size(request->messages); index++)
        json_array_append_new(messages,
                              normal_message(json_array_get(request->messages, index)));
    set_arguments(context, request->template_arguments);
    json_object_set_new(context, "messages", messages);
    if (request->tools)
        json_object_set(context, "tools", (json_t *)request->tools);
    if (request->documents)
        json_object_set(context, "documents", (json_t *)request->documents);
    json_object_set_new(context, "add_generation_prompt",
                        json_boolean(request->add_generation_prompt));
    set_text(context, "bos_token", bos_token);
    set_text(context, "eos_token", eos_token);
    bool whole = json_array_size(messages) == json_array_size(request->messages);
    char *text = whole ? json_dumps(context, JSON_COMPACT) : NULL;
    json_decref(context);
    return text;
}

enum status parameter_tools(struct generation_request *request, const char *name,
                            const json_t *value, const struct request_limits *limits,
                            struct fault *fault)
{
    (void)limits;
    if (!json_is_array(value))
        return fault_set(fault, STATUS_INVALID, name, "tools must be an array.");
    for (size_t index = 0; index < json_array_size(value); index++)
        if (!json_is_object(json_array_get(value, index)))
            return fault_set(fault, STATUS_INVALID, name, "tools must hold objects.");
    if (json_array_size(value) > 0)
        request->tools = value; /* templates test for tools, and an empty list is none */
    return STATUS_OK;
}

enum status parameter_tool_choice(struct generation_request *request, const char *name,
                                  const json_t *value,
                                  const struct request_limits *limits,
                                  struct fault *fault)
{
    (void)request;
    (void)limits;
    const char *choice = json_string_value(value);
    if (choice && (strcmp(choice, "auto") == 0 || strcmp(choice, "none") == 0))
        return STATUS_OK;
    return fault_set(fault, STATUS_UNSUPPORTED, name,
                     "Of tool_choice only 'auto' and 'none' are supported yet.");
}

enum status parameter_documents(struct generation_request *request, const char *name,
                                const json_t *value, const struct request_limits *limits,
                                struct fault *fault)
{
    (void)limits;
    if (!json_is_array(value))
        return fault_set(fault, STATUS_INVALID, name, "documents must be an array.");
    request->documents = value;
    return STATUS_OK;
}

enum status parameter_template_arguments(struct generation_request *request,
                                         const char *name, const json_t *value,
                                         const struct request_limits *limits,
                                         struct fault *fault)
{
    (void)limits;
    if (!json_is_object(value))
        return fault_set(fault, STATUS_INVALID, name,
                         "chat_template_kwargs must be an object.");
    request->template_arguments = value;
    return STATUS_OK;
}
