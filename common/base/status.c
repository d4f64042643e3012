#include "common/base/status.h"

#include "common/base/invariant.h"
#include <stdio.h>
#include <string.h>

struct status_row {
    const char *wire_name;
    int http_code;
    const char *openai_type;
};

static const struct status_row status_rows[STATUS_COUNT] = {
#define STATUS_ROW(name, wire, http, type) [name] = {wire, http, type},
    STATUS_TABLE(STATUS_ROW)
#undef STATUS_ROW
};

/* Takes a character that the end of the buffer cut in half off the end of text. */
static void cut_at_character(char *text)
{
    size_t end = strlen(text);
    size_t lead = end;
    while (lead > 0 && ((unsigned char)text[lead - 1] & 0xC0) == 0x80)
        lead--;
    if (lead > 0 && ((unsigned char)text[lead - 1] & 0xC0) == 0xC0)
        text[lead - 1] = '\0';
}

enum status fault_set(struct fault *fault, enum status status, const char *param,
                      const char *format, ...)
{
    fault->status = status;
    snprintf(fault->param, sizeof fault->param, "%s", param ? param : "");
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(fault->sentence, sizeof fault->sentence, format, arguments);
    va_end(arguments);
    if (wanted >= (int)sizeof fault->sentence)
        cut_at_character(fault->sentence);
    return status;
}

const char *status_wire_name(enum status status)
{
    INVARIANT(status < STATUS_COUNT);
    return status_rows[status].wire_name;
}

int status_http_code(enum status status)
{
    INVARIANT(status < STATUS_COUNT);
    return status_rows[status].http_code;
}

const char *status_openai_type(enum status status)
{
    INVARIANT(status < STATUS_COUNT);
    return status_rows[status].openai_type;
}

enum status status_from_wire_name(const char *name)
{
    for (int status = 0; status < STATUS_COUNT; status++)
        if (strcmp(status_rows[status].wire_name, name) == 0)
            return (enum status)status;
    return STATUS_INTERNAL;
}
