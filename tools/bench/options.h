/* options.h - what `ropeway bench` was asked for. */
#ifndef ROPEWAY_TOOLS_BENCH_OPTIONS_H
#define ROPEWAY_TOOLS_BENCH_OPTIONS_H

#include "common/base/status.h"
#include <stdbool.h>
#include <stdint.h>

#define URL_PART_BYTES 256

struct bench_options {
    char host[URL_PART_BYTES]; /* without the brackets of an IPv6 address */
    char port[8];
    char authority[URL_PART_BYTES + 16]; /* for the Host header */
    char path[URL_PART_BYTES];           /* in front of /v1, without a slash at its end */
    char model[URL_PART_BYTES];          /* empty: the field is left out */
    const char *api_key;                 /* of ROPEWAY_API_KEY, or NULL */
    uint32_t concurrency;
    uint32_t requests_count;
    uint32_t prompt_tokens;
    uint32_t max_tokens;
    uint32_t timeout_s; /* of one request */
    uint32_t seed;
    bool json;
};

/* argv[0] is the subcommand's name. On --help prints to stdout and sets *exit_now. */
enum status bench_options_parse(struct bench_options *options, int argc, char **argv,
                                bool *exit_now, struct fault *fault);

#endif
