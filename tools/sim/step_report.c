#include "tools/sim/step_report.h"

#include <jansson.h>
#include <stdlib.h>

static struct step_summary summarize(const struct step_report *report)
{
    uint32_t requests_count, steps_count;
    step_scheduler_requests(report->scheduler, &requests_count);
    step_scheduler_records(report->scheduler, &steps_count);
    return step_summarize(report->results, requests_count,
                          step_scheduler_active_batch_sizes(report->scheduler),
                          steps_count, report->total_seconds);
}

/* --- for people --------------------------------------------------------------------- */

/* A column grows with its lists up to here; a longer one pushes the rest to the right. */
#define COLUMN_MAX 40

static int ids_width(const struct step_request *requests, struct step_ids ids)
{
    size_t width = ids.count == 0 ? 1 : ids.count - 1;
    for (uint32_t i = 0; i < ids.count; i++)
        width += requests[ids.ids[i]].request_id.size;
    return width < COLUMN_MAX ? (int)width : COLUMN_MAX;
}

/* "a,b,c", or "-" for nothing. */
static void print_ids(const struct step_request *requests, struct step_ids ids, FILE *out)
{
    if (ids.count == 0)
        putc('-', out);
    for (uint32_t i = 0; i < ids.count; i++) {
        struct span id = requests[ids.ids[i]].request_id;
        fprintf(out, "%s%.*s", i == 0 ? "" : ",", (int)id.size, id.data);
    }
}

static void print_column(const struct step_request *requests, struct step_ids ids,
                         int width, FILE *out)
{
    print_ids(requests, ids, out);
    fprintf(out, "%*s  ", width - ids_width(requests, ids), "");
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static void print_steps(const struct step_report *report, FILE *out)
{
    static const char admitted[] = "admitted", running[] = "running";
    uint32_t count;
    const struct step_request *requests =
        step_scheduler_requests(report->scheduler, &count);
    const struct step_record *records = step_scheduler_records(report->scheduler, &count);
    int admitted_width = (int)sizeof admitted - 1;
    int running_width = (int)sizeof running - 1;
    for (uint32_t i = 0; i < count; i++) {
        admitted_width =
            larger(admitted_width, ids_width(requests, records[i].admitted_request_ids));
        running_width =
            larger(running_width, ids_width(requests, records[i].running_request_ids));
    }
    fprintf(out, "%8s  %6s  %-*s  %-*s  completed\n", "step", "active", admitted_width,
            admitted, running_width, running);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%8lld  %6u  ", (long long)records[i].step,
                records[i].active_batch_size);
        print_column(requests, records[i].admitted_request_ids, admitted_width, out);
        print_column(requests, records[i].running_request_ids, running_width, out);
        print_ids(requests, records[i].completed_request_ids, out);
        putc('\n', out);
    }
}

void step_report_text(const struct step_report *report, FILE *out)
{
    struct step_summary summary = summarize(report);
    print_steps(report, out);
    fprintf(out,
            "\nrequest_count           %u\n"
            "mean_generated_tokens   %.4g\n"
            "active_batch_sizes      ",
            summary.request_count, summary.mean_generated_tokens);
    for (uint32_t i = 0; i < summary.scheduler_steps; i++)
        fprintf(out, "%s%u", i == 0 ? "" : ",", summary.active_batch_sizes[i]);
    fprintf(out,
            "\nmax_active_batch_size   %u\n"
            "mean_active_batch_size  %.4g\n"
            "scheduler_steps         %u\n"
            "total_seconds           %.6g\n"
            "tokens_per_second       %.6g\n",
            summary.max_active_batch_size, summary.mean_active_batch_size,
            summary.scheduler_steps, summary.total_seconds, summary.tokens_per_second);
}

/* --- for programs ------------------------------------------------------------------- */

/* Doubles are written so that reading them gives the same. */
#define EXACT "%.17g"

/* Every id as JSON has it, quoted once, since many steps name it. */
struct quoted_ids {
    char **texts;
    uint32_t count;
};

static void free_quoted(struct quoted_ids *quoted)
{
    for (uint32_t i = 0; i < quoted->count; i++)
        free(quoted->texts[i]);
    free(quoted->texts);
}

static bool quote_ids(struct quoted_ids *quoted, const struct step_report *report)
{
    uint32_t count;
    const struct step_request *requests =
        step_scheduler_requests(report->scheduler, &count);
    *quoted = (struct quoted_ids){.texts = calloc(count, sizeof *quoted->texts)};
    if (quoted->texts == NULL)
        return false;
    for (; quoted->count < count; quoted->count++) {
        struct span id = requests[quoted->count].request_id;
        json_t *text = json_stringn(id.data, id.size);
        char *dumped = text != NULL ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
        json_decref(text);
        if (dumped == NULL)
            return false;
        quoted->texts[quoted->count] = dumped;
    }
    return true;
}

static void write_requests(const struct step_report *report,
                           const struct quoted_ids *quoted, FILE *out)
{
    for (uint32_t i = 0; i < quoted->count; i++) {
        const struct step_progress *progress =
            step_scheduler_progress(report->scheduler, i);
        const struct step_result *result = &report->results[i];
        fprintf(out,
                "%s\n  {\"request_id\": %s, \"admitted_step\": %lld, "
                "\"finished_step\": %lld, \"generated_tokens\": %u, "
                "\"ttft_seconds\": " EXACT ", \"prefill_seconds\": " EXACT
                ", \"decode_seconds\": " EXACT "}",
                i == 0 ? "" : ",", quoted->texts[i], (long long)progress->admitted_step,
                (long long)progress->finished_step, result->generated_tokens,
                result->ttft_seconds, result->prefill_seconds, result->decode_seconds);
    }
}

static void write_ids(const char *name, struct step_ids ids,
                      const struct quoted_ids *quoted, FILE *out)
{
    fprintf(out, ", \"%s\": [", name);
    for (uint32_t i = 0; i < ids.count; i++)
        fprintf(out, "%s%s", i == 0 ? "" : ", ", quoted->texts[ids.ids[i]]);
    putc(']', out);
}

static void write_steps(const struct step_report *report, const struct quoted_ids *quoted,
                        FILE *out)
{
    uint32_t count;
    const struct step_record *records = step_scheduler_records(report->scheduler, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct step_record *record = &records[i];
        fprintf(out, "%s\n  {\"step\": %lld", i == 0 ? "" : ",", (long long)record->step);
        write_ids("admitted_request_ids", record->admitted_request_ids, quoted, out);
        write_ids("running_request_ids", record->running_request_ids, quoted, out);
        write_ids("completed_request_ids", record->completed_request_ids, quoted, out);
        fprintf(out, ", \"active_batch_size\": %u}", record->active_batch_size);
    }
}

static void write_summary(const struct step_summary *summary, FILE *out)
{
    fprintf(out,
            "{\n  \"request_count\": %u,\n  \"mean_generated_tokens\": " EXACT
            ",\n  \"active_batch_sizes\": [",
            summary->request_count, summary->mean_generated_tokens);
    for (uint32_t i = 0; i < summary->scheduler_steps; i++)
        fprintf(out, "%s%u", i == 0 ? "" : ", ", summary->active_batch_sizes[i]);
    fprintf(out,
            "],\n  \"max_active_batch_size\": %u,\n"
            "  \"mean_active_batch_size\": " EXACT ",\n"
            "  \"scheduler_steps\": %u,\n"
            "  \"total_seconds\": " EXACT ",\n"
            "  \"tokens_per_second\": " EXACT "}",
            summary->max_active_batch_size, summary->mean_active_batch_size,
            summary->scheduler_steps, summary->total_seconds, summary->tokens_per_second);
}

bool step_report_json(const struct step_report *report, FILE *out)
{
    struct step_summary summary = summarize(report);
    struct quoted_ids quoted;
    bool is_quoted = quote_ids(&quoted, report);
    if (is_quoted) {
        fputs("{\"requests\": [", out);
        write_requests(report, &quoted, out);
        fputs("],\n\"steps\": [", out);
        write_steps(report, &quoted, out);
        fputs("],\n\"summary\": ", out);
        write_summary(&summary, out);
        fputs("}\n", out);
    }
    free_quoted(&quoted);
    return is_quoted;
}
