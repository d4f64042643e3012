#include "common/os/config_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit_row {
    const char *name;
    unsigned shift;
};

static const struct unit_row unit_rows[] = {
    {"", 0},     {"B", 0},  {"K", 10},   {"KiB", 10}, {"M", 20},
    {"MiB", 20}, {"G", 30}, {"GiB", 30}, {"T", 40},   {"TiB", 40},
};

/* The whole of text as a number below 2^64, with a unit of bytes where units is set. */
static bool parse_number(const char *text, bool units, uint64_t *value)
{
    if (text[0] < '0' || text[0] > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno)
        return false;
    size_t rows = units ? sizeof unit_rows / sizeof unit_rows[0] : 1;
    for (size_t row = 0; row < rows; row++) {
        if (strcmp(end, unit_rows[row].name) != 0)
            continue;
        *value = number << unit_rows[row].shift;
        return *value >> unit_rows[row].shift == number;
    }
    return false;
}

static enum status set_number(struct config *config, const struct option_row *row,
                              const char *text, const char *where, struct fault *fault)
{
    uint64_t value;
    bool bytes = row->kind == OPTION_BYTES;
    if (!parse_number(text, bytes, &value) || value < row->least || value > row->most)
        return fault_set(fault, STATUS_INVALID, row->name,
                         "%s: '%.64s' is not a whole number from %llu to %llu%s", where,
                         text, (unsigned long long)row->least,
                         (unsigned long long)row->most,
                         bytes ? ", with KiB, MiB or GiB behind it if you like" : "");
    char *field = (char *)config + row->offset;
    uint32_t narrow = (uint32_t)value;
    if (bytes)
        memcpy(field, &value, sizeof value);
    else
        memcpy(field, &narrow, sizeof narrow);
    return STATUS_OK;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t size = strlen(text);
    for (const char *at = choices; size > 0 && at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, text, size) == 0 && (at[size] == '|' || at[size] == '\0'))
            return true;
    }
    return false;
}

enum status option_set(struct config *config, const struct option_row *row,
                       const char *text, const char *where, struct fault *fault)
{
    if (row->kind == OPTION_NUMBER || row->kind == OPTION_BYTES)
        return set_number(config, row, text, where, fault);
    if (row->kind == OPTION_CHOICE && !is_choice(row->choices, text))
        return fault_set(fault, STATUS_INVALID, row->name, "%s: '%.64s' is not one of %s",
                         where, text, row->choices);
    if (strlen(text) >= CONFIG_TEXT_BYTES)
        return fault_set(fault, STATUS_INVALID, row->name,
                         "%s: the value is longer than %d bytes", where,
                         CONFIG_TEXT_BYTES - 1);
    memcpy((char *)config + row->offset, text, strlen(text) + 1);
    return STATUS_OK;
}

void option_text(const struct config *config, const struct option_row *row,
                 char text[CONFIG_TEXT_BYTES])
{
    const char *field = (const char *)config + row->offset;
    uint64_t bytes;
    uint32_t number;
    switch (row->kind) {
    case OPTION_TEXT:
    case OPTION_CHOICE:
        memcpy(text, field, CONFIG_TEXT_BYTES);
        break;
    case OPTION_NUMBER:
        memcpy(&number, field, sizeof number);
        snprintf(text, CONFIG_TEXT_BYTES, "%u", number);
        break;
    case OPTION_BYTES:
        memcpy(&bytes, field, sizeof bytes);
        snprintf(text, CONFIG_TEXT_BYTES, "%llu", (unsigned long long)bytes);
        break;
    }
}
