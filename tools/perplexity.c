#include "tools/perplexity.h"
#include "common/base/exit_codes.h"
#include "common/base/invariant.h"
#include "common/os/mapped_file.h"
#include "common/text/tokenizer_gguf.h"
#include "worker/math/scalar.h"
#include "worker/math/team.h"
#include "worker/model/engine.h"
#include "worker/model/logprobs.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW_DEFAULT 512
#define WINDOW_LEAST   2 /* one token to see, one to score */
#define WINDOW_MOST    131072

/* A bound on a text's tokens: 1 GiB of ids. */
#define TOKENS_MAX (256u << 20)

/* --- measuring ---------------------------------------------------------------------- */

struct measurement {
    struct engine *engine;
    const uint32_t *window; /* tokens of the window in hand */
    uint32_t window_count;
    double sum; /* of negative log-likelihoods */
    struct perplexity_result *result;
};

/* What a row says of the token after it. */
static void score_row(void *context, uint32_t row, const float *logits)
{
    struct measurement *measurement = context;
    uint32_t vocabulary = engine_shape(measurement->engine)->vocabulary_count;
    if (row + 1 == measurement->window_count)
        return;
    measurement->sum += logprobs_normalizer(logits, vocabulary) -
                        (double)logits[measurement->window[row + 1]];
    measurement->result->scored_count++;
}

static enum status measure_window(struct measurement *measurement, const uint32_t *tokens,
                                  uint32_t count, struct fault *fault)
{
    measurement->window = tokens;
    measurement->window_count = count;
    enum status status =
        engine_logits(measurement->engine, tokens, count, score_row, measurement, fault);
    if (measurement->result->scored_count > 0)
        measurement->result->mean_nll =
            measurement->sum / (double)measurement->result->scored_count;
    return status;
}

struct windows {
    const uint32_t *tokens;
    size_t tokens_count;
    uint32_t length;
    uint32_t bos;      /* TOKEN_NONE: none in front */
    uint32_t *scratch; /* [length]: the window with its BOS */
};

/* The window that begins at text token `first`; its length in *count. */
static const uint32_t *window_at(const struct windows *windows, size_t first,
                                 size_t stride, uint32_t *count)
{
    size_t left = windows->tokens_count - first;
    size_t taken = left < stride ? left : stride;
    *count = (uint32_t)taken;
    if (windows->bos == TOKEN_NONE)
        return windows->tokens + first;
    INVARIANT(windows->scratch != NULL);
    windows->scratch[0] = windows->bos;
    memcpy(windows->scratch + 1, windows->tokens + first, taken * sizeof(uint32_t));
    *count += 1;
    return windows->scratch;
}

static enum status measure_all(struct measurement *measurement,
                               const struct windows *windows,
                               perplexity_progress *progress, void *context,
                               struct fault *fault)
{
    size_t stride = windows->bos == TOKEN_NONE ? windows->length : windows->length - 1;
    for (size_t first = 0; first < windows->tokens_count; first += stride) {
        uint32_t count;
        const uint32_t *window = window_at(windows, first, stride, &count);
        enum status status = measure_window(measurement, window, count, fault);
        if (status != STATUS_OK)
            return status;
        if (progress != NULL)
            progress(context, measurement->result);
    }
    if (measurement->result->scored_count == 0)
        return fault_set(fault, STATUS_INVALID, "file",
                         "the text is too short: two tokens are needed");
    return STATUS_OK;
}

/* --- what is measured --------------------------------------------------------------- */

static enum status tokenize(const char *model_path, const char *text_path,
                            struct token_list *tokens, uint32_t *bos, struct fault *fault)
{
    struct gguf *gguf = NULL;
    struct tokenizer *tokenizer = NULL;
    struct mapped_file text;
    enum status status = gguf_open(&gguf, model_path, fault);
    if (status != STATUS_OK)
        return status;
    status = tokenizer_gguf_create(&tokenizer, gguf, fault);
    gguf_close(gguf);
    if (status != STATUS_OK)
        return status;
    status = mapped_file_open(&text, text_path, fault);
    if (status == STATUS_OK) {
        struct span span = {text.data, text.size_bytes};
        status = tokenizer_encode(tokenizer, span, 0, tokens, fault);
        mapped_file_close(&text);
    }
    *bos = tokenizer_adds_bos(tokenizer) ? tokenizer_bos(tokenizer) : TOKEN_NONE;
    tokenizer_destroy(tokenizer);
    return status;
}

static enum status measure_tokens(const char *model_path, struct windows *windows,
                                  uint32_t threads_count, perplexity_progress *progress,
                                  void *context, struct perplexity_result *result,
                                  struct fault *fault)
{
    const struct engine_options options = {.model_path = model_path,
                                           .threads_count = threads_count,
                                           .step_rows_max = windows->length,
                                           .step_sequences_max = 1,
                                           .context_length = windows->length};
    struct measurement measurement = {.result = result};
    enum status status = engine_open(&measurement.engine, &options, fault);
    if (status != STATUS_OK)
        return status;
    uint32_t context_length = engine_shape(measurement.engine)->context_length;
    if (windows->length > context_length)
        status = fault_set(fault, STATUS_CONTEXT_LENGTH, "window",
                           "a window of %u tokens is longer than the model's context, %u",
                           windows->length, context_length);
    else
        status = measure_all(&measurement, windows, progress, context, fault);
    engine_close(measurement.engine);
    return status;
}

enum status perplexity_measure(const char *model_path, const char *text_path,
                               uint32_t window, uint32_t threads_count,
                               perplexity_progress *progress, void *context,
                               struct perplexity_result *result, struct fault *fault)
{
    struct token_list tokens;
    struct windows windows = {.length = window};
    memset(result, 0, sizeof *result);
    token_list_init(&tokens, TOKENS_MAX);
    enum status status = tokenize(model_path, text_path, &tokens, &windows.bos, fault);
    windows.scratch = calloc(window, sizeof *windows.scratch);
    if (status == STATUS_OK && windows.scratch == NULL)
        status = fault_set(fault, STATUS_NO_SPACE, NULL, "no memory for a window");
    if (status == STATUS_OK) {
        windows.tokens = tokens.ids;
        windows.tokens_count = tokens.count;
        result->tokens_count = tokens.count;
        result->bos_each_window = windows.bos != TOKEN_NONE;
        status = measure_tokens(model_path, &windows, threads_count, progress, context,
                                result, fault);
    }
    free(windows.scratch);
    token_list_fini(&tokens);
    return status;
}

/* --- the subcommand ----------------------------------------------------------------- */

struct options {
    const char *model, *file;
    uint32_t window, threads;
    bool json;
};

static const char usage[] =
    "Usage: ropeway perplexity --model GGUF --file TEXT [--window TOKENS] [--threads N]\n"
    "                          [--json]\n"
    "Prints the mean negative log-likelihood of the text's tokens, each window from an\n"
    "empty cache, and the perplexity. --window 512 by default; --threads: one for each\n"
    "processor by default.\n";

static const struct option flags[] = {
    {"model", required_argument, NULL, 'm'},
    {"file", required_argument, NULL, 'f'},
    {"window", required_argument, NULL, 'w'},
    {"threads", required_argument, NULL, 't'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static bool parse_number(const char *option, const char *text, uint32_t least,
                         uint32_t most, uint32_t *value)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    bool good = *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 &&
                number >= least && number <= most;
    if (!good)
        fprintf(stderr, "ropeway perplexity: --%s is \"%s\"; it must be from %u to %u\n",
                option, text, least, most);
    *value = (uint32_t)number;
    return good;
}

enum parsed { PARSED, PARSED_HELP, PARSED_WRONG };

static enum parsed refuse(const char *what, const char *why)
{
    fprintf(stderr, "ropeway perplexity: %s %s; see ropeway perplexity --help\n", what,
            why);
    return PARSED_WRONG;
}

static enum parsed parse_flag(struct options *options, int flag)
{
    bool good = true;
    switch (flag) {
    case 'm':
        options->model = optarg;
        break;
    case 'f':
        options->file = optarg;
        break;
    case 'w':
        good =
            parse_number("window", optarg, WINDOW_LEAST, WINDOW_MOST, &options->window);
        break;
    case 't':
        good = parse_number("threads", optarg, 1, TEAM_THREADS_MAX, &options->threads);
        break;
    case 'j':
        options->json = true;
        break;
    default:
        return PARSED_HELP;
    }
    return good ? PARSED : PARSED_WRONG;
}

static enum parsed parse_options(struct options *options, int argc, char **argv)
{
    enum parsed parsed = PARSED;
    *options =
        (struct options){.window = WINDOW_DEFAULT, .threads = team_threads_default()};
    optind = 0; /* glibc: start anew */
    opterr = 0;
    for (int flag; (flag = getopt_long_only(argc, argv, ":h", flags, NULL)) != -1;) {
        if (flag == '?' || flag == ':')
            return refuse(argv[optind - 1],
                          flag == ':' ? "needs a value" : "is no option that I know");
        if ((parsed = parse_flag(options, flag)) != PARSED)
            return parsed;
    }
    if (optind != argc)
        return refuse(argv[optind], "is not an option");
    if (options->model == NULL)
        return refuse("--model", "is missing, the GGUF file");
    if (options->file == NULL)
        return refuse("--file", "is missing, the text to be foretold");
    return PARSED;
}

static void show_progress(void *context, const struct perplexity_result *so_far)
{
    (void)context;
    fprintf(stderr, "\r%llu of %llu tokens, mean NLL %.4f ",
            (unsigned long long)so_far->scored_count,
            (unsigned long long)so_far->tokens_count, so_far->mean_nll);
}

static void print_result(const struct options *options,
                         const struct perplexity_result *result)
{
    double perplexity = scalar_exp_double(result->mean_nll);
    unsigned long long scored = result->scored_count, tokens = result->tokens_count;
    bool bos = result->bos_each_window;
    if (options->json)
        printf("{\"mean_nll\": %.6f, \"perplexity\": %.6f, \"n_scored\": %llu, "
               "\"n_ids\": %llu, \"window\": %u, \"bos_each_window\": %s}\n",
               result->mean_nll, perplexity, scored, tokens, options->window,
               bos ? "true" : "false");
    else
        printf(
            "mean NLL %.6f, perplexity %.6f: %llu of %llu tokens scored, in windows of "
            "%u%s\n",
            result->mean_nll, perplexity, scored, tokens, options->window,
            bos ? " that begin with BOS" : "");
}

int perplexity_main(int argc, char **argv)
{
    struct options options;
    struct perplexity_result result;
    struct fault fault;
    enum parsed parsed = parse_options(&options, argc, argv);
    if (parsed == PARSED_HELP)
        fputs(usage, stdout);
    if (parsed != PARSED)
        return parsed == PARSED_HELP ? EXIT_SUCCESS : EXIT_OPTIONS;
    bool terminal = isatty(STDERR_FILENO);
    enum status status =
        perplexity_measure(options.model, options.file, options.window, options.threads,
                           terminal ? show_progress : NULL, NULL, &result, &fault);
    if (terminal)
        fputc('\n', stderr);
    if (status != STATUS_OK) {
        fprintf(stderr, "ropeway perplexity: %s\n", fault.sentence);
        return EXIT_OPTIONS;
    }
    print_result(&options, &result);
    return EXIT_SUCCESS;
}
