/* config_table.h - the options as rows: what config.h promises, for its own files only.
 */
#ifndef ROPEWAY_COMMON_OS_CONFIG_TABLE_H
#define ROPEWAY_COMMON_OS_CONFIG_TABLE_H

#include "common/os/config.h"
#include <stddef.h>

enum option_kind {
    OPTION_TEXT,   /* char[CONFIG_TEXT_BYTES] */
    OPTION_CHOICE, /* the same, one of choices */
    OPTION_NUMBER, /* uint32_t from least to most */
    OPTION_BYTES,  /* uint64_t, with KiB, MiB, GiB or K, M, G behind it */
};

struct option_row {
    const char *name; /* without the dashes */
    enum option_kind kind;
    size_t offset; /* in struct config */
    const char *fallback;
    uint64_t least, most;
    const char *choices; /* "a|b|c", or what stands for the value in the help */
    unsigned programs;   /* enum config_program, or-ed */
    const char *group;
    const char *help;
};

extern const struct option_row option_rows[];
extern const size_t option_rows_count;

const struct option_row *option_find(const char *name);

/* The row whose name is nearest, for "did you mean"; NULL when none is near. */
const struct option_row *option_nearest(const char *name, unsigned program);

/* Reads text into the option; the sentence names where (say "--port" or "ROPEWAY_PORT").
 */
enum status option_set(struct config *config, const struct option_row *row,
                       const char *text, const char *where, struct fault *fault);

/* The value as option_set would read it. */
void option_text(const struct config *config, const struct option_row *row,
                 char text[CONFIG_TEXT_BYTES]);

/* What no row can say alone: options that exclude or need one another. */
enum status config_check(struct config *config, enum config_program program,
                         struct fault *fault);

const char *config_program_name(enum config_program program);
void config_print_help(enum config_program program);

#endif
