#include "tools/bench/options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every gap between chunks is kept until the end, in 4 bytes. */
#define TOKENS_MAX (UINT64_C(1) << 26)

struct number_option {
    const char *name;
    size_t offset;
    uint32_t fallback, least, most;
    const char *help;
};

#define AT(field) offsetof(struct bench_options, field)

static const struct number_option numbers[] = {
    {"concurrency", AT(concurrency), 8, 1, 4096, "users that ask at the same time"},
    {"requests", AT(requests_count), 64, 1, 10000000, "requests in all"},
    {"prompt-tokens", AT(prompt_tokens), 64, 1, 1000000, "length of every prompt"},
    {"max-tokens", AT(max_tokens), 64, 1, 1000000,
     "tokens asked for, end tokens ignored"},
    {"timeout", AT(timeout_s), 600, 1, 86400, "seconds after which a request has failed"},
    {"seed", AT(seed), 0, 0, UINT32_MAX,
     "of the prompts: the same seed, the same prompts"},
};

#define NUMBERS_COUNT (sizeof numbers / sizeof *numbers)

enum { FLAG_HELP = 'h', FLAG_MODEL = 1000, FLAG_JSON };

static uint32_t *number_at(struct bench_options *options, const struct number_option *row)
{
    return (uint32_t *)((char *)options + row->offset);
}

static void print_help(void)
{
    printf("Usage: ropeway bench URL [OPTION...]\n\n"
           "Users ask http://HOST:PORT for streamed completions of random prompts, each\n"
           "its next as soon as its last has ended, and the answers are measured.\n\n");
    for (size_t i = 0; i < NUMBERS_COUNT; i++)
        printf("  --%-15s %s (%u)\n", numbers[i].name, numbers[i].help,
               numbers[i].fallback);
    printf("  --%-15s %s\n", "model", "the model's name (left to the server)");
    printf("  --%-15s %s\n", "json",
           "one JSON document on standard output, nothing else");
    printf("  --%-15s %s\n", "help", "this");
    printf("\nROPEWAY_API_KEY in the environment is sent as the bearer's token.\n"
           "Ctrl-C prints what was measured so far.\n");
}

static enum status read_number(struct bench_options *options,
                               const struct number_option *row, const char *text,
                               struct fault *fault)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
        value < row->least || value > row->most)
        return fault_set(fault, STATUS_INVALID, row->name,
                         "--%s '%.64s' is not a number from %u to %u", row->name, text,
                         row->least, row->most);
    *number_at(options, row) = (uint32_t)value;
    return STATUS_OK;
}

static enum status refuse_url(const char *url, struct fault *fault)
{
    return fault_set(fault, STATUS_INVALID, "URL",
                     "'%.200s' is not of the form http://HOST[:PORT][/PATH]", url);
}

/* "host:port", "[v6]:port", either without the port. */
static bool split_authority(struct bench_options *options, const char *text)
{
    const char *end, *host = text;
    if (text[0] == '[') {
        host = text + 1;
        end = strchr(text, ']');
        if (end == NULL)
            return false;
        text = end + 1;
    } else {
        end = text + strcspn(text, ":");
        text = end;
    }
    if (end == host || end - host >= URL_PART_BYTES || (*text != ':' && *text != '\0'))
        return false;
    const char *port = *text == ':' ? text + 1 : "80";
    size_t port_size = strspn(port, "0123456789");
    if (port_size == 0 || port_size > 5 || port[port_size] != '\0')
        return false;
    snprintf(options->host, sizeof options->host, "%.*s", (int)(end - host), host);
    snprintf(options->port, sizeof options->port, "%.5s", port);
    return true;
}

static enum status read_url(struct bench_options *options, const char *url,
                            struct fault *fault)
{
    static const char scheme[] = "http://";
    if (strncmp(url, scheme, sizeof scheme - 1) != 0)
        return refuse_url(url, fault);
    const char *authority = url + sizeof scheme - 1;
    size_t size = strcspn(authority, "/");
    const char *path = authority + size;
    size_t path_size = strlen(path);
    while (path_size > 0 && path[path_size - 1] == '/')
        path_size--;
    if (size >= URL_PART_BYTES || path_size >= URL_PART_BYTES ||
        strpbrk(url, " \t\r\n?#@") != NULL)
        return refuse_url(url, fault);
    snprintf(options->authority, sizeof options->authority, "%.*s", (int)size, authority);
    snprintf(options->path, sizeof options->path, "%.*s", (int)path_size, path);
    return split_authority(options, options->authority) ? STATUS_OK
                                                        : refuse_url(url, fault);
}

static enum status read_flag(struct bench_options *options, int found, bool *exit_now,
                             struct fault *fault)
{
    switch (found) {
    case FLAG_HELP:
        print_help();
        *exit_now = true;
        return STATUS_OK;
    case FLAG_JSON:
        options->json = true;
        return STATUS_OK;
    case FLAG_MODEL:
        if (strlen(optarg) >= sizeof options->model)
            return fault_set(fault, STATUS_INVALID, "model", "--model is too long");
        snprintf(options->model, sizeof options->model, "%s", optarg);
        return STATUS_OK;
    default:
        return read_number(options, &numbers[found], optarg, fault);
    }
}

static enum status check(const struct bench_options *options, struct fault *fault)
{
    uint64_t tokens = (uint64_t)options->requests_count * options->max_tokens;
    if (tokens > TOKENS_MAX)
        return fault_set(fault, STATUS_INVALID, "requests",
                         "--requests %u of --max-tokens %u are more than the %llu tokens "
                         "that one run keeps: give fewer",
                         options->requests_count, options->max_tokens,
                         (unsigned long long)TOKENS_MAX);
    return STATUS_OK;
}

static void fill_flags(struct option flags[NUMBERS_COUNT + 4])
{
    size_t count = 0;
    for (; count < NUMBERS_COUNT; count++)
        flags[count] =
            (struct option){numbers[count].name, required_argument, NULL, (int)count};
    flags[count++] = (struct option){"model", required_argument, NULL, FLAG_MODEL};
    flags[count++] = (struct option){"json", no_argument, NULL, FLAG_JSON};
    flags[count++] = (struct option){"help", no_argument, NULL, FLAG_HELP};
    flags[count] = (struct option){0};
}

enum status bench_options_parse(struct bench_options *options, int argc, char **argv,
                                bool *exit_now, struct fault *fault)
{
    struct option flags[NUMBERS_COUNT + 4];
    int found;
    memset(options, 0, sizeof *options);
    options->api_key = getenv("ROPEWAY_API_KEY");
    for (size_t i = 0; i < NUMBERS_COUNT; i++)
        *number_at(options, &numbers[i]) = numbers[i].fallback;
    fill_flags(flags);
    optind = 0; /* glibc: start anew */
    opterr = 0;
    while ((found = getopt_long_only(argc, argv, ":h", flags, NULL)) != -1) {
        if (found == '?' || found == ':')
            return fault_set(fault, STATUS_INVALID, "",
                             "%.64s %s; see ropeway bench --help", argv[optind - 1],
                             found == ':' ? "needs a value" : "is no option that I know");
        enum status status = read_flag(options, found, exit_now, fault);
        if (status != STATUS_OK || *exit_now)
            return status;
    }
    if (optind + 1 != argc)
        return fault_set(fault, STATUS_INVALID, "URL",
                         "one URL is needed, such as http://127.0.0.1:8080; see ropeway "
                         "bench --help");
    enum status status = read_url(options, argv[optind], fault);
    return status == STATUS_OK ? check(options, fault) : status;
}
