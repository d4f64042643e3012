#define PCRE2_CODE_UNIT_WIDTH 8
#include "common/text/pretokenizer.h"

#include "common/base/invariant.h"
#include <pcre2.h>
#include <stdlib.h>

/* The authors' \s is Unicode's White_Space. PCRE2's \s under UCP also takes U+180E, which
 * left White_Space with Unicode 6.3, so the property is named. */
#define S     "\\p{White_Space}"
#define NOT_S "\\P{White_Space}"

#define CONTRACTIONS     "'s|'t|'re|'ve|'m|'ll|'d"
#define ANY_CONTRACTIONS "(?i:" CONTRACTIONS ")"
#define SPACES           S "+(?!" NOT_S ")|" S "+"

#define GPT2 CONTRACTIONS "| ?\\p{L}+| ?\\p{N}+| ?[^" S "\\p{L}\\p{N}]+|" SPACES

/* llama3 and qwen2 differ in how many digits make a word. */
#define MODERN(digits)                                                                   \
    ANY_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| ?[^" S                  \
                     "\\p{L}\\p{N}]+[\\r\\n]*|" S "*[\\r\\n]+|" SPACES

/* Expressions run one after another, each over every part that the one before it left:
 * its matches and what lies between them. */
#define STAGES_MAX 2

struct family {
    const char *expressions[STAGES_MAX];
    bool whole_words;
    bool adds_bos;
};

static const struct family gpt2 = {{GPT2}, false, false};
static const struct family single_digits = {{"\\p{N}", GPT2}, false, false};
static const struct family llama3 = {{MODERN("\\p{N}{1,3}")}, true, true};
static const struct family qwen2 = {{MODERN("\\p{N}")}, false, false};

static const struct {
    const char *name;
    const struct family *family;
} names[] = {
    {"gpt-2", &gpt2},           {"gpt2", &gpt2},
    {"phi-2", &gpt2},           {"olmo", &gpt2},
    {"smollm", &single_digits}, {"starcoder", &single_digits},
    {"refact", &single_digits}, {"command-r", &single_digits},
    {"llama3", &llama3},        {"llama-v3", &llama3},
    {"llama-bpe", &llama3},     {"falcon3", &llama3},
    {"qwen2", &qwen2},          {"deepseek-r1-qwen", &qwen2},
    {"stablelm2", &qwen2},
};

/* Bounds on one match, for a text of megabytes that is a single word: backtracking over
 * a run of spaces takes a step for each. */
#define MATCH_STEPS_MAX 50000000u
#define MATCH_HEAP_KIB  65536u

struct pretokenizer {
    const struct family *family;
    pcre2_code *stages[STAGES_MAX];
    uint32_t stages_count;
    pcre2_match_context *limits;
};

static const struct family *find_family(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].family;
    return NULL;
}

static pcre2_code *compile(const char *expression)
{
    int error;
    PCRE2_SIZE offset;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)expression, PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_UCP, &error, &offset, NULL);
    /* Without a JIT for this processor pcre2_match interprets. */
    if (code)
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    return code;
}

static bool compile_all(struct pretokenizer *pretokenizer)
{
    const struct family *family = pretokenizer->family;
    while (pretokenizer->stages_count < STAGES_MAX &&
           family->expressions[pretokenizer->stages_count]) {
        const char *expression = family->expressions[pretokenizer->stages_count];
        pcre2_code *code = compile(expression);
        if (!code)
            return false;
        pretokenizer->stages[pretokenizer->stages_count++] = code;
    }
    pretokenizer->limits = pcre2_match_context_create(NULL);
    if (!pretokenizer->limits)
        return false;
    pcre2_set_match_limit(pretokenizer->limits, MATCH_STEPS_MAX);
    pcre2_set_heap_limit(pretokenizer->limits, MATCH_HEAP_KIB);
    return true;
}

enum status pretokenizer_create(struct pretokenizer **pretokenizer, const char *name,
                                struct fault *fault)
{
    const struct family *family = name ? find_family(name) : NULL;
    if (!family)
        return fault_set(
            fault, STATUS_UNSUPPORTED, NULL,
            "the vocabulary's pre-tokenizer '%s' (tokenizer.ggml.pre) is not "
            "supported; another one would give wrong tokens",
            name ? name : "");
    struct pretokenizer *made = calloc(1, sizeof *made);
    if (made)
        made->family = family;
    if (!made || !compile_all(made)) {
        pretokenizer_destroy(made);
        return fault_set(fault, STATUS_NO_SPACE, NULL,
                         "pre-tokenizer '%s' cannot be compiled: no memory, or PCRE2 "
                         "is older than 10.40",
                         name);
    }
    *pretokenizer = made;
    return STATUS_OK;
}

void pretokenizer_destroy(struct pretokenizer *pretokenizer)
{
    if (!pretokenizer)
        return;
    for (uint32_t i = 0; i < pretokenizer->stages_count; i++)
        pcre2_code_free(pretokenizer->stages[i]);
    pcre2_match_context_free(pretokenizer->limits);
    free(pretokenizer);
}

bool pretokenizer_prefers_whole_words(const struct pretokenizer *pretokenizer)
{
    return pretokenizer->family->whole_words;
}

bool pretokenizer_adds_bos(const char *name)
{
    const struct family *family = name ? find_family(name) : NULL;
    return family && family->adds_bos;
}

/* One call's state. */
struct split {
    const struct pretokenizer *pretokenizer;
    pcre2_match_data *matches[STAGES_MAX];
    pretokenizer_take *take;
    void *context;
    struct fault *fault;
};

/* The next match at or after *at, or the end of text; False when a bound was reached. */
static bool find_match(const struct split *split, uint32_t stage, struct span text,
                       size_t at, size_t *start, size_t *end)
{
    const struct pretokenizer *by = split->pretokenizer;
    pcre2_match_data *match = split->matches[stage];
    /* The caller has checked the text: checking it again at each match would make this
     * quadratic. The machine-code matcher has a small stack; the interpreter does not. */
    int found = pcre2_match(by->stages[stage], (PCRE2_SPTR)text.data, text.size, at,
                            PCRE2_NO_UTF_CHECK, match, by->limits);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
        found = pcre2_match(by->stages[stage], (PCRE2_SPTR)text.data, text.size, at,
                            PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match, by->limits);
    if (found == PCRE2_ERROR_NOMATCH) {
        *start = *end = text.size;
        return true;
    }
    if (found < 0)
        return false;
    const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(match);
    *start = offsets[0];
    *end = offsets[1];
    return true;
}

static enum status split_stage(const struct split *split, uint32_t stage,
                               struct span text);

/* Hands a part on to the next stage, or out. */
static enum status pass_on(const struct split *split, uint32_t stage, struct span part)
{
    if (part.size == 0)
        return STATUS_OK;
    if (stage + 1 < split->pretokenizer->stages_count)
        return split_stage(split, stage + 1, part);
    return split->take(split->context, part, split->fault);
}

static enum status split_stage(const struct split *split, uint32_t stage,
                               struct span text)
{
    enum status status = STATUS_OK;
    size_t at = 0;
    while (status == STATUS_OK && at < text.size) {
        size_t start, end;
        if (!find_match(split, stage, text, at, &start, &end))
            return fault_set(split->fault, STATUS_INVALID, NULL,
                             "the text cannot be cut into words within the bounds: it "
                             "has too long a run without any");
        INVARIANT(end > at); /* no expression of the table matches nothing */
        status = pass_on(split, stage, (struct span){text.data + at, start - at});
        if (status == STATUS_OK)
            status = pass_on(split, stage, (struct span){text.data + start, end - start});
        at = end;
    }
    return status;
}

enum status pretokenizer_split(const struct pretokenizer *pretokenizer, struct span text,
                               pretokenizer_take *take, void *context,
                               struct fault *fault)
{
    struct split split = {pretokenizer, {NULL}, take, context, fault};
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < pretokenizer->stages_count; i++) {
        split.matches[i] =
            pcre2_match_data_create_from_pattern(pretokenizer->stages[i], NULL);
        if (!split.matches[i])
            status = fault_set(fault, STATUS_NO_SPACE, NULL,
                               "no memory to cut a text into words");
    }
    if (status == STATUS_OK)
        status = split_stage(&split, 0, text);
    for (uint32_t i = 0; i < pretokenizer->stages_count; i++)
        pcre2_match_data_free(split.matches[i]);
    return status;
}
