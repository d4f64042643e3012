#include "frontend/core/json_body.h"

#include <math.h>

/* jansson recurses once a level; this looks at brackets outside of strings only. */
static bool is_shallow(struct span body)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t at = 0; at < body.size; at++) {
        char byte = body.data[at];
        if (in_string && byte == '\\')
            at++;
        else if (byte == '"')
            in_string = !in_string;
        else if (!in_string && (byte == '[' || byte == '{') && ++depth > JSON_DEPTH_MAX)
            return false;
        else if (!in_string && (byte == ']' || byte == '}') && depth > 0)
            depth--;
    }
    return true;
}

static enum status refuse(const json_error_t *error, struct fault *fault)
{
    if (json_error_code(error) == json_error_duplicate_key)
        return fault_set(fault, STATUS_MALFORMED, NULL,
                         "The body has an object with a repeated key, before byte %d.",
                         error->position);
    if (json_error_code(error) == json_error_invalid_utf8)
        return fault_set(fault, STATUS_MALFORMED, NULL, "The body is not UTF-8.");
    return fault_set(fault, STATUS_MALFORMED, NULL,
                     "The body is not valid JSON (line %d, column %d).", error->line,
                     error->column);
}

enum status json_body_parse(struct span body, json_t **root, struct fault *fault)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    json_error_t error;
    if (body.size == 0)
        return fault_set(fault, STATUS_MALFORMED, NULL,
                         "The body is empty; a JSON object is expected.");
    if (!is_shallow(body))
        return fault_set(fault, STATUS_MALFORMED, NULL,
                         "The body nests deeper than %d levels.", JSON_DEPTH_MAX);
    *root = json_loadb(body.data, body.size, flags, &error);
    if (!*root && json_error_code(&error) == json_error_numeric_overflow)
        *root = json_loadb(body.data, body.size, flags | JSON_DECODE_INT_AS_REAL, &error);
    if (!*root)
        return refuse(&error, fault);
    if (!json_is_object(*root)) {
        json_decref(*root);
        *root = NULL;
        return fault_set(fault, STATUS_MALFORMED, NULL,
                         "The body must be a JSON object.");
    }
    return STATUS_OK;
}

struct span json_body_text(const json_t *value)
{
    return (struct span){json_string_value(value), json_string_length(value)};
}

/* Beyond it a double no longer tells neighbours apart. */
#define DOUBLE_INTEGER_MAX 9007199254740992.0

bool json_body_integer(const json_t *value, json_int_t *integer)
{
    if (json_is_integer(value)) {
        *integer = json_integer_value(value);
        return true;
    }
    double real = json_real_value(value);
    if (!json_is_real(value) || !(fabs(real) <= DOUBLE_INTEGER_MAX) ||
        real != trunc(real))
        return false;
    *integer = (json_int_t)real;
    return true;
}
