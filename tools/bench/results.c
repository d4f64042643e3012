#include "tools/bench/results.h"

#include "common/base/time_units.h"
#include <stdio.h>

void results_fini(struct results *results)
{
    samples_fini(&results->first_token_ms);
    samples_fini(&results->per_token_ms);
    samples_fini(&results->gaps_ms);
    samples_fini(&results->whole_ms);
}

static double between_ms(uint64_t from_ns, uint64_t to_ns)
{
    return (double)(to_ns - from_ns) / NS_PER_MS;
}

static void add_success(struct results *results, const struct answer *answer,
                        uint64_t ended_ns)
{
    results->succeeded_count++;
    results->prompt_tokens += answer->prompt_tokens;
    results->completion_tokens += answer->completion_tokens;
    results->chunks_count += answer->chunks_count;
    samples_add(&results->first_token_ms, between_ms(answer->sent_ns, answer->first_ns));
    samples_add(&results->whole_ms, between_ms(answer->sent_ns, ended_ns));
    if (answer->completion_tokens > 1)
        samples_add(&results->per_token_ms,
                    between_ms(answer->first_ns, answer->last_ns) /
                        (double)(answer->completion_tokens - 1));
}

void results_add(struct results *results, const struct answer *answer,
                 enum failure failure, const char *detail, uint64_t ended_ns)
{
    if (failure == FAILURE_NONE) {
        add_success(results, answer, ended_ns);
        return;
    }
    results->failed_count++;
    results->failures_count[failure]++;
    results->unfinished_chunks += answer->chunks_count;
    if (results->first_failure[0] == '\0')
        snprintf(results->first_failure, sizeof results->first_failure, "%s%s%s",
                 failure_meaning(failure), detail[0] ? ": " : "", detail);
}

void results_add_incomplete(struct results *results, const struct answer *answer)
{
    results->incomplete_count++;
    results->unfinished_chunks += answer->chunks_count;
}
