#include "common/os/config.h"

#include "common/base/invariant.h"
#include "common/os/config_table.h"
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS_MAX         64
#define NAME_BYTES       64
#define RUNTIME_DIR_MODE 0700
#define ALL_PERMISSIONS  07777
#define FLAG_CONFIG      1000 /* getopt's values above those of rows */
#define FLAG_HELP        'h'  /* above those of rows, too */
#define FLAG_VERSION     1002

static void set_defaults(struct config *config)
{
    struct fault fault;
    memset(config, 0, sizeof *config);
    for (size_t row = 0; row < option_rows_count; row++)
        if (option_rows[row].fallback[0])
            INVARIANT(option_set(config, &option_rows[row], option_rows[row].fallback,
                                 "default", &fault) == STATUS_OK);
}

struct ini_reader {
    struct config *config;
    const char *path;
    struct fault *fault;
    enum status status;
};

/* inih's handler: 0 is an error. One file may serve every program: keys of others pass.
 */
static int on_ini_key(void *user, const char *section, const char *name,
                      const char *value)
{
    struct ini_reader *reader = user;
    char dashed[NAME_BYTES], where[CONFIG_TEXT_BYTES];
    (void)section;
    if (reader->status)
        return 0;
    snprintf(dashed, sizeof dashed, "%s", name);
    for (char *at = dashed; *at; at++)
        *at = *at == '_' ? '-' : *at;
    const struct option_row *row = option_find(dashed);
    if (!row) {
        reader->status = fault_set(reader->fault, STATUS_INVALID, NULL,
                                   "%.200s: unknown key '%.64s'", reader->path, name);
        return 0;
    }
    snprintf(where, sizeof where, "%.200s: %s", reader->path, row->name);
    reader->status = option_set(reader->config, row, value, where, reader->fault);
    return reader->status == STATUS_OK;
}

static enum status read_file(struct config *config, const char *path, struct fault *fault)
{
    struct ini_reader reader = {.config = config, .path = path, .fault = fault};
    struct stat about;
    /* inih takes a folder, which opens but cannot be read, for an empty file. */
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return fault_set(fault, STATUS_INVALID, "config",
                         "--config %.300s is a folder; a file is needed", path);
    int line = ini_parse(path, on_ini_key, &reader);
    if (reader.status)
        return reader.status;
    if (line < 0)
        return fault_set(fault, STATUS_IO, "config", "--config %.300s cannot be read: %s",
                         path, strerror(errno));
    if (line > 0)
        return fault_set(fault, STATUS_INVALID, "config",
                         "%.300s: line %d is neither a key nor a section", path, line);
    return STATUS_OK;
}

static enum status read_environment(struct config *config, struct fault *fault)
{
    for (size_t index = 0; index < option_rows_count; index++) {
        const struct option_row *row = &option_rows[index];
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "ROPEWAY_%s", row->name);
        for (char *at = name; *at; at++)
            *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
        const char *value = getenv(name);
        if (!value || !value[0])
            continue;
        enum status status = option_set(config, row, value, name, fault);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* getopt's table: the rows that program takes, by their index, and the three flags of
 * all. */
static void fill_flags(enum config_program program, struct option flags[ROWS_MAX])
{
    size_t count = 0;
    INVARIANT(option_rows_count + 4 <= ROWS_MAX);
    for (size_t row = 0; row < option_rows_count; row++)
        if (option_rows[row].programs & program)
            flags[count++] =
                (struct option){option_rows[row].name, required_argument, NULL, (int)row};
    flags[count++] = (struct option){"config", required_argument, NULL, FLAG_CONFIG};
    flags[count++] = (struct option){"help", no_argument, NULL, FLAG_HELP};
    flags[count++] = (struct option){"version", no_argument, NULL, FLAG_VERSION};
    flags[count] = (struct option){0};
}

static enum status refuse_flag(enum config_program program, int found, const char *given,
                               struct fault *fault)
{
    const char *program_name = config_program_name(program);
    if (found == ':')
        return fault_set(fault, STATUS_INVALID, NULL, "%.64s needs a value", given);
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s", given + strspn(given, "-"));
    name[strcspn(name, "=")] = '\0';
    const struct option_row *nearest = option_nearest(name, program);
    if (option_find(name))
        return fault_set(fault, STATUS_INVALID, NULL,
                         "--%s is not an option of %s; see %s --help", name, program_name,
                         program_name);
    if (!nearest)
        return fault_set(fault, STATUS_INVALID, NULL,
                         "unknown option %.64s; see %s --help", given, program_name);
    return fault_set(fault, STATUS_INVALID, NULL,
                     "unknown option %.64s; did you mean --%s? See %s --help", given,
                     nearest->name, program_name);
}

/* What a walk over argv is for: the configuration file comes before the flags, so argv is
 * walked twice. */
enum walk { WALK_FILE, WALK_FLAGS };

static enum status walk_flags(struct config *config, enum config_program program,
                              enum walk walk, int argc, char **argv, int *special,
                              struct fault *fault)
{
    struct option flags[ROWS_MAX];
    enum status status = STATUS_OK;
    int found;
    fill_flags(program, flags);
    optind = 0; /* glibc: start anew */
    opterr = 0;
    /* _only: -port is --port, and an unknown -word is named whole. */
    while (!status && (found = getopt_long_only(argc, argv, ":h", flags, NULL)) != -1) {
        if (found == '?' || found == ':')
            return refuse_flag(program, found, argv[optind - 1], fault);
        if (found == FLAG_HELP || found == FLAG_VERSION)
            *special = found;
        else if (found == FLAG_CONFIG && walk == WALK_FILE)
            status = read_file(config, optarg, fault);
        else if (found != FLAG_CONFIG && walk == WALK_FLAGS) {
            char where[NAME_BYTES];
            snprintf(where, sizeof where, "--%s", option_rows[found].name);
            status = option_set(config, &option_rows[found], optarg, where, fault);
        }
    }
    if (!status && optind < argc)
        status = fault_set(fault, STATUS_INVALID, NULL,
                           "'%.64s' is not an option; see %s --help", argv[optind],
                           config_program_name(program));
    return status;
}

/* The default lies in /tmp, where another user may have made that name first, and would
 * then own the sockets' folder. */
static enum status check_runtime_dir(const struct config *config, struct fault *fault)
{
    struct stat found;
    if (lstat(config->runtime_dir, &found) != 0)
        return fault_set(fault, STATUS_IO, "runtime-dir", "--runtime-dir %s: %s",
                         config->runtime_dir, strerror(errno));
    if (!S_ISDIR(found.st_mode))
        return fault_set(fault, STATUS_CONFLICT, "runtime-dir",
                         "--runtime-dir %s is not a folder; choose another one",
                         config->runtime_dir);
    if (found.st_uid != geteuid() || found.st_mode & (S_IWGRP | S_IWOTH))
        return fault_set(fault, STATUS_CONFLICT, "runtime-dir",
                         "--runtime-dir %s belongs to user %u and has mode %o, so others "
                         "may write into it; choose one of our own (user %u, mode 700)",
                         config->runtime_dir, (unsigned)found.st_uid,
                         (unsigned)(found.st_mode & ALL_PERMISSIONS),
                         (unsigned)geteuid());
    return STATUS_OK;
}

static enum status make_runtime_dir(const struct config *config, struct fault *fault)
{
    if (mkdir(config->runtime_dir, RUNTIME_DIR_MODE) == 0)
        return STATUS_OK;
    if (errno == EEXIST)
        return check_runtime_dir(config, fault);
    return fault_set(fault, STATUS_IO, "runtime-dir",
                     "--runtime-dir %s cannot be made: %s", config->runtime_dir,
                     strerror(errno));
}

enum status config_load(struct config *config, enum config_program program, int argc,
                        char **argv, bool *exit_now, struct fault *fault)
{
    int special = 0;
    *exit_now = false;
    set_defaults(config);
    enum status status =
        walk_flags(config, program, WALK_FILE, argc, argv, &special, fault);
    if (!status && special) {
        *exit_now = true;
        if (special == FLAG_HELP)
            config_print_help(program);
        else
            printf("%s %s\n", config_program_name(program), ROPEWAY_VERSION);
        return STATUS_OK;
    }
    if (!status)
        status = read_environment(config, fault);
    if (!status)
        status = walk_flags(config, program, WALK_FLAGS, argc, argv, &special, fault);
    if (!status)
        status = config_check(config, program, fault);
    if (!status)
        status = make_runtime_dir(config, fault);
    return status;
}

char **config_argv(const struct config *config, enum config_program program,
                   const char *executable)
{
    char **argv = calloc(2 * ROWS_MAX, sizeof *argv);
    if (!argv)
        return NULL;
    size_t count = 0;
    bool copied = (argv[count++] = strdup(executable)) != NULL;
    for (size_t index = 0; index < option_rows_count; index++) {
        const struct option_row *row = &option_rows[index];
        char flag[NAME_BYTES], text[CONFIG_TEXT_BYTES];
        option_text(config, row, text);
        if (!(row->programs & program) || !text[0] || strcmp(row->name, "api-key") == 0)
            continue;
        snprintf(flag, sizeof flag, "--%s", row->name);
        copied = copied && (argv[count++] = strdup(flag)) != NULL &&
                 (argv[count++] = strdup(text)) != NULL;
    }
    if (copied)
        return argv;
    config_argv_free(argv);
    return NULL;
}

void config_argv_free(char **argv)
{
    for (char **at = argv; *at; at++)
        free(*at);
    free(argv);
}

void config_path(const struct config *config, const char *file,
                 char path[CONFIG_PATH_BYTES])
{
    snprintf(path, CONFIG_PATH_BYTES, "%s/%s", config->runtime_dir, file);
}

void config_url(const struct config *config, const char *name, char *url,
                size_t url_bytes)
{
    snprintf(url, url_bytes, "ipc://%s/%s.ipc", config->runtime_dir, name);
}
