/* results.h - what all requests of a run come to. */
#ifndef ROPEWAY_TOOLS_BENCH_RESULTS_H
#define ROPEWAY_TOOLS_BENCH_RESULTS_H

#include "tools/bench/answer.h"
#include "tools/bench/options.h"

struct results {
    uint64_t began_ns, ended_ns;
    uint32_t succeeded_count, failed_count, incomplete_count;
    uint32_t failures_count[FAILURES_COUNT];
    char first_failure[160];       /* one sentence about the first failure */
    uint64_t prompt_tokens;        /* of successes, by usage */
    uint64_t completion_tokens;    /* of successes, by usage */
    uint64_t unfinished_chunks;    /* that failed or incomplete answers brought */
    uint64_t chunks_count;         /* with text, of successes */
    struct samples first_token_ms; /* from the sending to the first text */
    struct samples per_token_ms;   /* (last - first) / (tokens - 1), one an answer */
    struct samples gaps_ms;        /* between an answer's chunks, of all of them */
    struct samples whole_ms;
};

void results_fini(struct results *results);

/* An answer that came to its end at ended_ns. detail is of a failure, may be "". */
void results_add(struct results *results, const struct answer *answer,
                 enum failure failure, const char *detail, uint64_t ended_ns);

/* An answer that the run's end has cut: neither a success nor a failure. */
void results_add_incomplete(struct results *results, const struct answer *answer);

#endif
