#include "tools/sim.h"

#include "common/base/exit_codes.h"
#include "tools/sim/step_file.h"
#include "tools/sim/step_report.h"
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* A step of a day: more is a slip of the pen. */
#define STEP_SECONDS_MAX 86400.0

struct options {
    const char *steps_path; /* "": not given */
    int64_t max_batch_size;
    double step_seconds;
    bool json;
};

enum { FLAG_STEPS = 1000, FLAG_MAX_BATCH_SIZE, FLAG_STEP_SECONDS, FLAG_JSON, FLAG_HELP };

static const struct option flags[] = {
    {"steps", required_argument, NULL, FLAG_STEPS},
    {"max-batch-size", required_argument, NULL, FLAG_MAX_BATCH_SIZE},
    {"step-seconds", required_argument, NULL, FLAG_STEP_SECONDS},
    {"json", no_argument, NULL, FLAG_JSON},
    {"help", no_argument, NULL, FLAG_HELP},
    {0},
};

static const char help[] =
    "Usage: ropeway sim --steps FILE [OPTION...]\n"
    "\n"
    "Runs a step file through the scheduler, without a model, and prints the step table\n"
    "and the summary. docs/COURSE.md says what they mean.\n"
    "\n"
    "  --steps FILE          a request a line, as JSON; - is standard input\n"
    "  --max-batch-size N    requests that run at the same time (unlimited)\n"
    "  --step-seconds S      how long a step lasts (0: no time passes)\n"
    "  --json                one JSON document on standard output, nothing else\n"
    "  --help                this\n"
    "\n"
    "A line is {\"request_id\": \"a\", \"prompt\": \"Hi\"}, and may have max_new_tokens "
    "(32),\n"
    "arrival_step (0) and eos_after, the number of the token that is EOS.\n";

/* --- options ------------------------------------------------------------------------ */

/* Any number: whether it is a batch size is the scheduler's to say. */
static enum status parse_batch_size(const char *text, int64_t *size, struct fault *fault)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0)
        return fault_set(fault, STATUS_INVALID, "max-batch-size",
                         "--max-batch-size '%.64s' is not an integer", text);
    *size = number;
    return STATUS_OK;
}

static enum status parse_seconds(const char *text, double *seconds, struct fault *fault)
{
    char *end;
    *seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(*seconds >= 0 && *seconds <= STEP_SECONDS_MAX))
        return fault_set(fault, STATUS_INVALID, "step-seconds",
                         "--step-seconds '%.64s' is not a number from 0 to %.0f", text,
                         STEP_SECONDS_MAX);
    return STATUS_OK;
}

static enum status take_flag(struct options *options, int flag, bool *help_wanted,
                             struct fault *fault)
{
    switch (flag) {
    case FLAG_STEPS:
        options->steps_path = optarg;
        return STATUS_OK;
    case FLAG_MAX_BATCH_SIZE:
        return parse_batch_size(optarg, &options->max_batch_size, fault);
    case FLAG_STEP_SECONDS:
        return parse_seconds(optarg, &options->step_seconds, fault);
    case FLAG_JSON:
        options->json = true;
        return STATUS_OK;
    default:
        *help_wanted = true;
        return STATUS_OK;
    }
}

static enum status parse_options(struct options *options, int argc, char **argv,
                                 bool *help_wanted, struct fault *fault)
{
    int found;
    *options = (struct options){.steps_path = "", .max_batch_size = STEP_BATCH_UNLIMITED};
    optind = 0; /* glibc: start anew */
    opterr = 0;
    while ((found = getopt_long(argc, argv, ":", flags, NULL)) != -1) {
        if (found == '?' || found == ':')
            return fault_set(fault, STATUS_INVALID, "",
                             "%.64s %s; see ropeway sim --help", argv[optind - 1],
                             found == ':' ? "needs a value" : "is no option that I know");
        enum status status = take_flag(options, found, help_wanted, fault);
        if (status != STATUS_OK || *help_wanted)
            return status;
    }
    if (options->steps_path[0] == '\0' || optind != argc)
        return fault_set(fault, STATUS_INVALID, "steps",
                         "--steps FILE is needed and nothing else beside options; see "
                         "ropeway sim --help");
    return STATUS_OK;
}

/* --- the run ------------------------------------------------------------------------ */

struct simulation {
    struct options options;
    struct step_file file;
    struct step_scheduler *scheduler;
    struct step_result *results;
    double total_seconds;
};

static enum status read_steps(struct simulation *simulation, struct fault *fault)
{
    const char *path = simulation->options.steps_path;
    bool is_standard_input = strcmp(path, "-") == 0;
    FILE *in = is_standard_input ? stdin : fopen(path, "r");
    if (in == NULL)
        return fault_set(fault, STATUS_IO, "steps", "%.256s cannot be opened: %s", path,
                         strerror(errno));
    enum status status = step_file_read(&simulation->file, in, fault);
    if (!is_standard_input)
        fclose(in);
    return status;
}

/* Where the model would be: every token comes, and is EOS where the file says so. */
static enum status foresee(void *context, struct step_token *tokens, uint32_t count,
                           double *elapsed_seconds, struct fault *fault)
{
    const struct simulation *simulation = context;
    (void)fault;
    *elapsed_seconds = simulation->options.step_seconds;
    for (uint32_t i = 0; i < count; i++)
        tokens[i].is_eos =
            tokens[i].number == simulation->file.eos_after[tokens[i].request];
    return STATUS_OK;
}

/* Puts the line in front of a sentence about a request. */
static enum status create_scheduler(struct simulation *simulation, struct fault *fault)
{
    const struct step_file *file = &simulation->file;
    struct fault found;
    uint32_t at;
    enum status status =
        step_scheduler_create(&simulation->scheduler, file->requests, file->count,
                              simulation->options.max_batch_size, &at, &found);
    if (status == STATUS_OK)
        return status;
    if (at < file->count)
        return fault_set(fault, status, found.param, "line %u: %s", file->lines[at],
                         found.sentence);
    *fault = found;
    return status;
}

static enum status simulate(struct simulation *simulation, struct fault *fault)
{
    enum status status = read_steps(simulation, fault);
    if (status == STATUS_OK)
        status = create_scheduler(simulation, fault);
    if (status != STATUS_OK)
        return status;
    simulation->results = calloc(STEP_REQUESTS_MAX, sizeof *simulation->results);
    if (simulation->results == NULL)
        return fault_set(fault, STATUS_NO_SPACE, "", "no memory for the results");
    return step_engine_run(simulation->scheduler, foresee, simulation,
                           simulation->results, &simulation->total_seconds, fault);
}

static enum status print(const struct simulation *simulation, struct fault *fault)
{
    const struct step_report report = {.scheduler = simulation->scheduler,
                                       .results = simulation->results,
                                       .total_seconds = simulation->total_seconds};
    if (!simulation->options.json)
        step_report_text(&report, stdout);
    else if (!step_report_json(&report, stdout))
        return fault_set(fault, STATUS_NO_SPACE, "", "no memory for the report");
    if (fflush(stdout) != 0 || ferror(stdout))
        return fault_set(fault, STATUS_IO, "", "the report cannot be written: %s",
                         strerror(errno));
    return STATUS_OK;
}

static int tell(const struct fault *fault, int code)
{
    fprintf(stderr, "ropeway sim: %s\n", fault->sentence);
    return code;
}

int sim_main(int argc, char **argv)
{
    struct simulation simulation = {.options = {.steps_path = ""}};
    struct fault fault;
    bool help_wanted = false;
    if (parse_options(&simulation.options, argc, argv, &help_wanted, &fault) != STATUS_OK)
        return tell(&fault, EXIT_OPTIONS);
    if (help_wanted) {
        fputs(help, stdout);
        return EXIT_SUCCESS;
    }
    int code = EXIT_SUCCESS;
    if (simulate(&simulation, &fault) != STATUS_OK)
        code =
            tell(&fault, fault.status == STATUS_NO_SPACE ? EXIT_FAILURE : EXIT_OPTIONS);
    else if (print(&simulation, &fault) != STATUS_OK)
        code = tell(&fault, EXIT_FAILURE);
    free(simulation.results);
    step_scheduler_destroy(simulation.scheduler);
    step_file_fini(&simulation.file);
    return code;
}
