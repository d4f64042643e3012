/* reference_runs.c - properties that every text has, over a real vocabulary.
 *
 *     reference_runs VARIABLE FILE     (paths as in golden_model.h)
 *
 * Runs of blanks come back byte for byte, a text of a fifth of a megabyte
 * takes little more than twice one of half its size, and so do 800 turns of a
 * chat and 400. Times are the process's own, the least of several.
 */
#include "common/base/buffer.h"
#include "common/text/detokenizer.h"
#include "common/text/tokenizer_gguf.h"
#include "tests/text/reference_model.h"
#include <stdio.h>
#include <time.h>

#define TOKENS_MAX     1000000
#define TEXT_BYTES_MAX 1000000
#define RUN_MAX        64
#define TRIES          5

/* Twice the text may take this many times as long: log n, caches, a busy machine. */
#define GROWTH_MAX 3.0

static void encode(const struct tokenizer *tokenizer, struct span text,
                   struct token_list *list)
{
    struct fault fault;
    token_list_init(list, TOKENS_MAX);
    if (tokenizer_encode(tokenizer, text, TOKENIZE_SPECIAL, list, &fault) != STATUS_OK)
        printf("%s\n", fault.sentence);
}

static bool comes_back(const struct tokenizer *tokenizer, struct span text)
{
    struct token_list list;
    struct buffer back;
    struct detokenizer detokenizer;
    encode(tokenizer, text, &list);
    buffer_init(&back, TEXT_BYTES_MAX);
    detokenizer_init(&detokenizer, tokenizer, true, true);
    for (size_t i = 0; i < list.count; i++)
        detokenizer_push(&detokenizer, list.ids[i], &back);
    detokenizer_finish(&detokenizer, &back);
    bool same = span_equal(buffer_span(&back), text);
    if (!same)
        printf("does not come back: '%.*s'\n", (int)text.size, text.data);
    buffer_fini(&back);
    token_list_fini(&list);
    return same;
}

static bool runs_come_back(const struct tokenizer *tokenizer)
{
    static const char blanks[] = {'\t', ' ', '\n', '\r'};
    bool right = true;
    for (size_t i = 0; i < sizeof blanks; i++)
        for (size_t length = 1; length <= RUN_MAX; length++) {
            char run[RUN_MAX], text[2 * RUN_MAX + 16];
            memset(run, blanks[i], length);
            int size = snprintf(text, sizeof text, "%.*stest%.*s", (int)length, run,
                                (int)length, run);
            right &= comes_back(tokenizer, (struct span){text, (size_t)size});
        }
    return right;
}

static double least_seconds(const struct tokenizer *tokenizer, struct span text)
{
    double least = 1e9;
    for (int i = 0; i < TRIES; i++) {
        struct token_list list;
        clock_t start = clock();
        encode(tokenizer, text, &list);
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        least = seconds < least ? seconds : least;
        token_list_fini(&list);
    }
    return least;
}

/* unit repeated, then twice as often. */
static bool is_linear(const struct tokenizer *tokenizer, const char *unit, size_t count,
                      double seconds_max)
{
    struct buffer text;
    buffer_init(&text, TEXT_BYTES_MAX);
    for (size_t i = 0; i < 2 * count; i++)
        buffer_append_text(&text, unit);
    double half = least_seconds(tokenizer, (struct span){text.data, text.size / 2});
    double whole = least_seconds(tokenizer, buffer_span(&text));
    printf("%zu and %zu bytes: %.2f and %.2f ms\n", text.size / 2, text.size, half * 1e3,
           whole * 1e3);
    buffer_fini(&text);
    return whole <= GROWTH_MAX * half && whole <= seconds_max;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    struct tokenizer *tokenizer = reference_model_tokenizer(argv[1], argv[2]);
    bool right = runs_come_back(tokenizer);
    right &= is_linear(tokenizer, "It was a cold evening, and nobody came. ", 2500, 1.0);
    right &= is_linear(tokenizer, "<|im_start|>user<start_of_turn>\nhello<end_of_turn>\n",
                       400, 0.05);
    tokenizer_destroy(tokenizer);
    return !right;
}
