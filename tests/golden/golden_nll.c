/* golden_nll MODEL_VARIABLE MODEL_FILE RESULT_JSON TEXT - the mean NLL that
 * `ropeway perplexity` measures, against reference.py's.
 */
#include "common/base/invariant.h"
#include "tests/golden/golden_model.h"
#include "tools/perplexity.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#define TOLERANCE  0.001 /* of the reference's mean */
#define THREADS    2
#define PATH_BYTES 1024

int main(int argc, char **argv)
{
    char model_path[PATH_BYTES];
    struct perplexity_result result;
    struct fault fault;
    if (argc != 5) {
        fprintf(stderr, "usage: golden_nll MODEL_VARIABLE MODEL_FILE RESULT_JSON TEXT\n");
        return 2;
    }
    golden_model_path(argv[1], argv[2], model_path, sizeof model_path);
    json_t *right = json_load_file(argv[3], JSON_REJECT_DUPLICATES, NULL);
    INVARIANT(right != NULL);
    uint32_t window = (uint32_t)json_integer_value(json_object_get(right, "window"));
    double mean = json_real_value(json_object_get(right, "mean_nll"));
    uint64_t scored = (uint64_t)json_integer_value(json_object_get(right, "n_scored"));
    uint64_t tokens = (uint64_t)json_integer_value(json_object_get(right, "n_ids"));
    bool bos = json_is_true(json_object_get(right, "bos_each_window"));
    json_decref(right);
    INVARIANT(mean > 0 && window > 0);
    if (perplexity_measure(model_path, argv[4], window, THREADS, NULL, NULL, &result,
                           &fault) != STATUS_OK) {
        printf("%s\n", fault.sentence);
        return 1;
    }
    printf("mean NLL %.6f, reference %.6f; %llu of %llu tokens scored\n", result.mean_nll,
           mean, (unsigned long long)result.scored_count,
           (unsigned long long)result.tokens_count);
    bool same = result.scored_count == scored && result.tokens_count == tokens &&
                result.bos_each_window == bos;
    return same && fabs(result.mean_nll / mean - 1.0) < TOLERANCE ? 0 : 1;
}
