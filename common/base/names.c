#include "common/base/names.h"

#include <stdio.h>
#include <string.h>

const char *names_join(name_at *at, char *text, size_t text_bytes)
{
    const char *name;
    text[0] = '\0';
    for (size_t index = 0; (name = at(index)) != NULL; index++) {
        size_t size = strlen(text);
        snprintf(text + size, text_bytes - size, "%s%s", index > 0 ? ", " : "", name);
    }
    return text;
}
