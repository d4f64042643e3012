/* reference_tokenizer.c - a real vocabulary against llama.cpp's tokens, line by line.
 *
 *     reference_tokenizer VARIABLE FILE JSONL     (paths as in golden_model.h)
 *
 * Each line is {text, special, add_special, ids, roundtrip, detok?}: see the README of
 * the reference data. Skipped where there is no such model.
 */
#include "common/text/detokenizer.h"
#include "common/text/tokenizer_gguf.h"
#include "tests/text/reference_model.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define TOKENS_MAX     100000
#define TEXT_BYTES_MAX 1000000

static bool same_ids(const struct token_list *list, const json_t *ids)
{
    if (list->count != json_array_size(ids))
        return false;
    for (size_t i = 0; i < list->count; i++)
        if ((json_int_t)list->ids[i] != json_integer_value(json_array_get(ids, i)))
            return false;
    return true;
}

static void print_ids(const char *label, const struct token_list *list)
{
    printf("  %s:", label);
    for (size_t i = 0; i < list->count; i++)
        printf(" %u", list->ids[i]);
    printf("\n");
}

/* The text of the ids after the BOS that was added, which llama.cpp's answer leaves out.
 */
static bool same_text(const struct tokenizer *tokenizer, const struct token_list *list,
                      size_t first, struct span wanted)
{
    struct buffer text;
    struct detokenizer detokenizer;
    buffer_init(&text, TEXT_BYTES_MAX);
    detokenizer_init(&detokenizer, tokenizer, true, first == 0);
    for (size_t i = first; i < list->count; i++)
        detokenizer_push(&detokenizer, list->ids[i], &text);
    detokenizer_finish(&detokenizer, &text);
    bool same = span_equal(buffer_span(&text), wanted);
    if (!same)
        printf("  text: %.*s\n", (int)text.size, text.data);
    buffer_fini(&text);
    return same;
}

static struct span string_of(const json_t *line, const char *key)
{
    const json_t *value = json_object_get(line, key);
    return (struct span){json_string_value(value), json_string_length(value)};
}

static bool check_line(const struct tokenizer *tokenizer, const json_t *line)
{
    bool add = json_is_true(json_object_get(line, "add_special"));
    int flags = (json_is_true(json_object_get(line, "special")) ? TOKENIZE_SPECIAL : 0) |
                (add ? TOKENIZE_ADD : 0);
    struct token_list list;
    struct fault fault;
    token_list_init(&list, TOKENS_MAX);
    enum status status =
        tokenizer_encode(tokenizer, string_of(line, "text"), flags, &list, &fault);
    bool right = status == STATUS_OK && same_ids(&list, json_object_get(line, "ids"));
    const char *key = json_object_get(line, "detok") ? "detok" : "text";
    if (right)
        right = same_text(tokenizer, &list, add && tokenizer_adds_bos(tokenizer),
                          string_of(line, key));
    if (!right)
        print_ids("ids", &list);
    token_list_fini(&list);
    return right;
}

static int check_file(const struct tokenizer *tokenizer, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    char *text = NULL;
    size_t capacity = 0, lines_count = 0, wrong_count = 0;
    while (getline(&text, &capacity, file) > 0) {
        json_t *line = json_loads(text, JSON_ALLOW_NUL, NULL);
        lines_count++;
        if (!line || !check_line(tokenizer, line)) {
            printf("differs: %s", text);
            wrong_count++;
        }
        json_decref(line);
    }
    free(text);
    fclose(file);
    printf("%zu of %zu lines differ\n", wrong_count, lines_count);
    return wrong_count > 0 || lines_count == 0;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    struct tokenizer *tokenizer = reference_model_tokenizer(argv[1], argv[2]);
    int result = check_file(tokenizer, argv[3]);
    tokenizer_destroy(tokenizer);
    return result;
}
