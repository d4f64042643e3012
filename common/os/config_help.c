#include "common/os/config_table.h"

#include <stdio.h>
#include <string.h>

#define FLAG_COLUMN_WIDTH 34

struct program_row {
    enum config_program program;
    const char *name;
    const char *purpose;
};

static const struct program_row program_rows[] = {
    {CONFIG_SERVE, "ropeway serve",
     "Serves a GGUF language model over HTTP and nng: starts the scheduler, a worker and "
     "a\n"
     "frontend, starts again what dies, and stops them in order on SIGTERM or Ctrl-C."},
    {CONFIG_FRONTEND, "ropeway-frontend",
     "Speaks HTTP and nng with clients, and text: templates, tokens, stop strings."},
    {CONFIG_SCHEDULER, "ropeway-scheduler",
     "Owns the queues and the KV blocks in shared memory, and decides what runs next."},
    {CONFIG_WORKER, "ropeway-worker",
     "Runs the forward pass of the batches that the scheduler posts."},
};

static const struct program_row *program_row(enum config_program program)
{
    const struct program_row *row = program_rows;
    while (row->program != program)
        row++;
    return row;
}

const char *config_program_name(enum config_program program)
{
    return program_row(program)->name;
}

static void print_option(const struct option_row *row)
{
    char flag[FLAG_COLUMN_WIDTH * 2];
    snprintf(flag, sizeof flag, "--%s %s", row->name, row->choices);
    printf("  %-*s %s", FLAG_COLUMN_WIDTH, flag, row->help);
    if (row->fallback[0] && strcmp(row->fallback, "0") != 0)
        printf(" [%s]", row->fallback);
    putchar('\n');
}

void config_print_help(enum config_program program)
{
    const char *group = "";
    const struct program_row *about = program_row(program);
    printf("Usage: %s --model PATH [options]\n\n%s\n", about->name, about->purpose);
    for (size_t index = 0; index < option_rows_count; index++) {
        const struct option_row *row = &option_rows[index];
        if (!(row->programs & program))
            continue;
        if (strcmp(group, row->group) != 0)
            printf("\n%s\n", row->group);
        group = row->group;
        print_option(row);
    }
    printf("  %-*s INI file with the same names, read before environment and flags\n",
           FLAG_COLUMN_WIDTH, "--config FILE");
    printf("  %-*s this text; --version prints the version\n\n", FLAG_COLUMN_WIDTH,
           "-h, --help");
    puts("Each option can be given by environment too: ROPEWAY_MAX_NUM_SEQS=8 is\n"
         "--max-num-seqs 8. Defaults < --config FILE < environment < flags.");
}
