#include "common/os/log.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer lines are cut: one write of at most this many bytes is never torn by another
 * process's line in the same pipe. */
#define LINE_BYTES_MAX 4096

struct level_row {
    const char *name;
    int journal_priority; /* syslog's numbers, which journald reads from "<N>" */
};

static const struct level_row level_rows[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARN] = {"warn", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

static const char *program_name = "ropeway";
static enum log_level level_max = LOG_LEVEL_INFO;
static bool under_journald;

enum log_level log_level_of(const char *name)
{
    for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++)
        if (strcmp(level_rows[level].name, name) == 0)
            return (enum log_level)level;
    return LOG_LEVEL_INFO;
}

void log_init(const char *program, enum log_level level)
{
    program_name = program;
    level_max = level;
    under_journald = getenv("JOURNAL_STREAM") != NULL;
}

int log_enabled(enum log_level level)
{
    return level <= level_max;
}

/* What others sent may be part of a message: it must not begin lines of its own. */
static void keep_on_one_line(char *line, size_t size)
{
    for (size_t at = 0; at < size; at++)
        if ((unsigned char)line[at] < ' ')
            line[at] = '?';
}

void log_write(enum log_level level, const char *format, ...)
{
    char line[LINE_BYTES_MAX];
    if (!log_enabled(level))
        return;
    const struct level_row *row = &level_rows[level];
    int size = 0;
    if (under_journald)
        size = snprintf(line, sizeof line, "<%d>", row->journal_priority);
    size += snprintf(line + size, sizeof line - (size_t)size, "%.64s[%d] %s ",
                     program_name, (int)getpid(), row->name);
    va_list arguments;
    va_start(arguments, format);
    int text = vsnprintf(line + size, sizeof line - (size_t)size, format, arguments);
    va_end(arguments);
    size += text > 0 ? text : 0;
    if (size > LINE_BYTES_MAX - 1)
        size = LINE_BYTES_MAX - 1;
    keep_on_one_line(line, (size_t)size);
    line[size++] = '\n';
    /* Nothing can be done about a log that cannot be written. */
    if (write(STDERR_FILENO, line, (size_t)size) < 0)
        return;
}
