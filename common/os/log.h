/* log.h - structured lines to stderr, with journald's priority prefix when under systemd.
 *
 * Form:    [<P>]ropeway-worker[0] level message key=value ...
 * Thread:  any; one write a line.
 */
#ifndef ROPEWAY_COMMON_OS_LOG_H
#define ROPEWAY_COMMON_OS_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* The level of that name; LOG_LEVEL_INFO for a name that is none (config refuses those).
 */
enum log_level log_level_of(const char *name);

/* program names the process in every line. Levels above level are dropped cheaply. */
void log_init(const char *program, enum log_level level);
int log_enabled(enum log_level level);
void log_write(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)                                                                   \
    do {                                                                                 \
        if (log_enabled(LOG_LEVEL_DEBUG))                                                \
            log_write(LOG_LEVEL_DEBUG, __VA_ARGS__);                                     \
    } while (0)

#endif
