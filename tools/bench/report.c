#include "tools/bench/report.h"

#include "common/base/time_units.h"
#include <jansson.h>
#include <math.h>

static const double percents[] = {50, 90, 95, 99};

#define PERCENTS_COUNT (sizeof percents / sizeof *percents)

/* One row of times: failures are counted as never ending in the last of them, since
 * percentiles of successes alone make an overload look good. */
struct row {
    const char *label, *key;
    struct samples *samples;
    size_t infinite_count;
};

#define ROWS_COUNT 5

static void fill_rows(struct results *results, struct row rows[ROWS_COUNT])
{
    rows[0] = (struct row){"to first token", "time_to_first_token_ms",
                           &results->first_token_ms, 0};
    rows[1] = (struct row){"per token after", "time_per_output_token_ms",
                           &results->per_token_ms, 0};
    rows[2] = (struct row){"between chunks", "inter_chunk_ms", &results->gaps_ms, 0};
    rows[3] = (struct row){"whole request", "request_ms", &results->whole_ms, 0};
    rows[4] = (struct row){"whole, failed: inf", "request_failures_infinite_ms",
                           &results->whole_ms, results->failed_count};
}

static double run_s(const struct results *results)
{
    return (double)(results->ended_ns - results->began_ns) / NS_PER_S;
}

static double rate(double count, const struct results *results)
{
    double seconds = run_s(results);
    return seconds > 0 ? count / seconds : 0;
}

static double failed_share(const struct results *results)
{
    uint32_t ended = results->succeeded_count + results->failed_count;
    return ended != 0 ? (double)results->failed_count / ended : 0;
}

static void print_rows(struct results *results, FILE *out)
{
    struct row rows[ROWS_COUNT];
    fill_rows(results, rows);
    fprintf(out, "\n%-20s %9s %9s %9s %9s %9s\n", "milliseconds", "mean", "p50", "p90",
            "p95", "p99");
    /* The last says something only beside failures. */
    size_t shown_count = ROWS_COUNT - (results->failed_count == 0);
    for (size_t i = 0; i < shown_count; i++) {
        double mean_ms =
            rows[i].infinite_count != 0 ? INFINITY : samples_mean_ms(rows[i].samples);
        fprintf(out, "%-20s %9.2f", rows[i].label, mean_ms);
        for (size_t p = 0; p < PERCENTS_COUNT; p++)
            fprintf(out, " %9.2f",
                    samples_percentile_ms(rows[i].samples, percents[p],
                                          rows[i].infinite_count));
        fprintf(out, "\n");
    }
}

static void print_failures(const struct results *results, FILE *out)
{
    if (results->incomplete_count != 0)
        fprintf(out, "incomplete  %u, still open when the run ended\n",
                results->incomplete_count);
    for (int i = FAILURE_NONE + 1; i < FAILURES_COUNT; i++)
        if (results->failures_count[i] != 0)
            fprintf(out, "  %-12s %u  (%s)\n", failure_name(i),
                    results->failures_count[i], failure_meaning(i));
    if (results->first_failure[0])
        fprintf(out, "  first: %s\n", results->first_failure);
}

void report_text(struct results *results, const struct bench_options *options, FILE *out)
{
    fprintf(out, "closed loop of %u users, %u tokens in, %u out, seed %u, %.2f s\n",
            options->concurrency, options->prompt_tokens, options->max_tokens,
            options->seed, run_s(results));
    fprintf(out, "succeeded   %u of %u; failed %u (%.1f %%)\n", results->succeeded_count,
            options->requests_count, results->failed_count, 100 * failed_share(results));
    print_failures(results, out);
    fprintf(out,
            "throughput  %.2f requests/s, %.1f output tokens/s, %.1f prompt tokens/s\n",
            rate(results->succeeded_count, results),
            rate((double)results->completion_tokens, results),
            rate((double)results->prompt_tokens, results));
    print_rows(results, out);
}

static json_t *finite_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *percentiles(const struct row *row)
{
    static const char *const names[] = {"p50", "p90", "p95", "p99"};
    json_t *object = json_object();
    json_object_set_new(object, "count", json_integer((json_int_t)row->samples->count));
    json_object_set_new(object, "mean",
                        finite_or_null(row->infinite_count != 0
                                           ? INFINITY
                                           : samples_mean_ms(row->samples)));
    for (size_t p = 0; p < PERCENTS_COUNT; p++)
        json_object_set_new(object, names[p],
                            finite_or_null(samples_percentile_ms(
                                row->samples, percents[p], row->infinite_count)));
    return object;
}

static json_t *failures_object(const struct results *results)
{
    json_t *object = json_object();
    for (int i = FAILURE_NONE + 1; i < FAILURES_COUNT; i++)
        json_object_set_new(object, failure_name(i),
                            json_integer(results->failures_count[i]));
    return object;
}

void report_json(struct results *results, const struct bench_options *options, FILE *out)
{
    struct row rows[ROWS_COUNT];
    json_t *document = json_pack(
        "{s:s, s:{s:i, s:i, s:i, s:i, s:I}, s:f, s:{s:i, s:i, s:i, s:f}, s:o, "
        "s:{s:I, s:I, s:I, s:I}, s:{s:f, s:f, s:f}}",
        "mode", "closed_loop", "options", "concurrency", (int)options->concurrency,
        "requests", (int)options->requests_count, "prompt_tokens",
        (int)options->prompt_tokens, "max_tokens", (int)options->max_tokens, "seed",
        (json_int_t)options->seed, "duration_s", run_s(results), "requests", "succeeded",
        (int)results->succeeded_count, "failed", (int)results->failed_count, "incomplete",
        (int)results->incomplete_count, "failed_share", failed_share(results), "failures",
        failures_object(results), "tokens", "prompt", (json_int_t)results->prompt_tokens,
        "completion", (json_int_t)results->completion_tokens, "chunks",
        (json_int_t)results->chunks_count, "unfinished_chunks",
        (json_int_t)results->unfinished_chunks, "throughput", "requests_per_s",
        rate(results->succeeded_count, results), "output_tokens_per_s",
        rate((double)results->completion_tokens, results), "prompt_tokens_per_s",
        rate((double)results->prompt_tokens, results));
    fill_rows(results, rows);
    for (size_t i = 0; i < ROWS_COUNT; i++)
        json_object_set_new(document, rows[i].key, percentiles(&rows[i]));
    json_dumpf(document, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fprintf(out, "\n");
    json_decref(document);
}
