/* ropeway.c - the command: `ropeway SUBCOMMAND ...`, one table row each. */
#include "common/base/exit_codes.h"
#include "tools/bench.h"
#include "tools/perplexity.h"
#include "tools/serve.h"
#include "tools/sim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct subcommand {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *help;
};

static const struct subcommand subcommands[] = {
    {"serve", serve_main, "serve a model over HTTP and nng"},
    {"bench", bench_main, "load a server and measure it"},
    {"perplexity", perplexity_main, "measure how well a model foretells a text"},
    {"sim", sim_main, "run a step file through the scheduler, without a model"},
};

#define SUBCOMMANDS_COUNT (sizeof subcommands / sizeof *subcommands)

static void print_help(void)
{
    printf("Usage: ropeway SUBCOMMAND [OPTION...]\n\nSubcommands:\n");
    for (size_t i = 0; i < SUBCOMMANDS_COUNT; i++)
        printf("  %-12s %s\n", subcommands[i].name, subcommands[i].help);
    printf("  %-12s %s\n  %-12s %s\n", "version", "print the version", "help",
           "print this");
    printf("\n`ropeway SUBCOMMAND --help` lists a subcommand's options.\n");
}

static int is_any(const char *given, const char *word, const char *flag)
{
    return strcmp(given, word) == 0 || strcmp(given, flag) == 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "ropeway: a subcommand is missing; see ropeway --help\n");
        return EXIT_OPTIONS;
    }
    for (size_t i = 0; i < SUBCOMMANDS_COUNT; i++)
        if (strcmp(argv[1], subcommands[i].name) == 0)
            return subcommands[i].main(argc - 1, argv + 1);
    if (is_any(argv[1], "help", "--help") || strcmp(argv[1], "-h") == 0) {
        print_help();
        return EXIT_SUCCESS;
    }
    if (is_any(argv[1], "version", "--version")) {
        printf("ropeway %s\n", ROPEWAY_VERSION);
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "ropeway: unknown subcommand %s; see ropeway --help\n", argv[1]);
    return EXIT_OPTIONS;
}
