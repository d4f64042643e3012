/* reference_templates.c - real models' chat templates against jinja2's output.
 *
 *     reference_templates SHARED_FOLDER
 *
 * The cases lie beside the repository and are not part of it: skipped where they are not.
 * A case expects text, or an error: one that the template raised comes back with its own
 * words; of others only that they fail. Cases in which minijinja is known to differ must
 * go on differing: a list that is too long hides what broke.
 */
#include "common/base/buffer.h"
#include "rust/ropeway_template.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIPPED            77
#define NOW_UNIX_S         1768435200 /* 2026-01-15 00:00 UTC, see the data's README */
#define SOURCE_BYTES_MAX   (1 << 20)
#define MESSAGE_BYTES      512
#define TEMPLATE_NAMES_MAX 64

static struct {
    char name[128];
    struct ropeway_template *compiled;
} templates[TEMPLATE_NAMES_MAX];
static size_t templates_count;

static const struct ropeway_template_text specials[] = {
    {"<|im_start|>", 12}, {"<|im_end|>", 10}, {"<|eot_id|>", 10}, {"<end_of_turn>", 13}};

/* jinja2 escapes for HTML what is added to a string that went through "safe", even here
 * where nothing is HTML; and iterating over None is an error there, but nothing here. */
static const struct {
    const char *name, *case_name;
} known[] = {
    {"meetkai-functionary-medium-v3.1.jinja", "tools_system_user"},
    {"meetkai-functionary-medium-v3.1.jinja", "tool_call_reply"},
    {"meetkai-functionary-medium-v3.1.jinja", "tool_call_with_text_then_answer"},
    {"meetkai-functionary-medium-v3.1.jinja", "parallel_tool_calls"},
    {"meetkai-functionary-medium-v3.1.jinja", "short_tool_call_id"},
    {"Mistral-Small-3.2-24B-Instruct-2506.jinja", "null_content"},
};
static size_t known_count;

static bool is_known(const char *name, const char *case_name)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0 &&
            strcmp(known[i].case_name, case_name) == 0)
            return true;
    return false;
}

static struct ropeway_template *compile(const char *folder, const char *name)
{
    char path[4096], message[MESSAGE_BYTES];
    static char source[SOURCE_BYTES_MAX];
    snprintf(path, sizeof path, "%s/templates/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    size_t size = fread(source, 1, sizeof source, file);
    fclose(file);
    struct ropeway_template *compiled = ropeway_template_compile(
        source, size, specials, sizeof specials / sizeof specials[0], message,
        sizeof message);
    if (!compiled)
        printf("%s: %s\n", name, message);
    return compiled;
}

static struct ropeway_template *template_of(const char *folder, const char *name)
{
    for (size_t i = 0; i < templates_count; i++)
        if (strcmp(templates[i].name, name) == 0)
            return templates[i].compiled;
    if (templates_count == TEMPLATE_NAMES_MAX) {
        printf("more than %d templates\n", TEMPLATE_NAMES_MAX);
        exit(1);
    }
    snprintf(templates[templates_count].name, sizeof templates[0].name, "%s", name);
    templates[templates_count].compiled = compile(folder, name);
    return templates[templates_count++].compiled;
}

/* The context, less "extra", plus each key of that. */
static char *context_text(json_t *line)
{
    json_t *context = json_deep_copy(json_object_get(line, "context"));
    json_t *extra = json_object_get(context, "extra");
    json_incref(extra);
    json_object_del(context, "extra");
    if (extra)
        json_object_update(context, extra);
    char *text = json_dumps(context, JSON_COMPACT);
    json_decref(extra);
    json_decref(context);
    return text;
}

static bool is_expected(const struct ropeway_template_result *result, const json_t *line)
{
    struct buffer text;
    buffer_init(&text, SOURCE_BYTES_MAX);
    for (size_t i = 0; i < result->pieces_count; i++)
        buffer_append(&text, result->pieces[i].text, result->pieces[i].size);
    const json_t *expected = json_object_get(line, "expected");
    struct span wanted = {json_string_value(expected), json_string_length(expected)};
    bool same = json_is_string(expected) && span_equal(buffer_span(&text), wanted);
    buffer_fini(&text);
    return same;
}

static bool is_expected_error(enum ropeway_template_error error, const char *message,
                              const json_t *line)
{
    const char *kind = json_string_value(json_object_get(line, "error_kind"));
    const char *words = json_string_value(json_object_get(line, "error"));
    if (!kind || !words || error == ROPEWAY_TEMPLATE_CONTEXT)
        return false;
    bool raised = strcmp(kind, "raise_exception") == 0;
    if (raised != (error == ROPEWAY_TEMPLATE_RAISED))
        return false;
    return !raised || strcmp(words, message) == 0;
}

static bool check_line(const char *folder, json_t *line)
{
    const char *name = json_string_value(json_object_get(line, "template_file"));
    const char *case_name = json_string_value(json_object_get(line, "case"));
    struct ropeway_template *compiled = template_of(folder, name);
    if (!compiled)
        return false;
    char *context = context_text(line);
    char message[MESSAGE_BYTES] = "";
    struct ropeway_template_result result;
    enum ropeway_template_error error = ropeway_template_render(
        compiled, context, strlen(context), NOW_UNIX_S, &result, message, sizeof message);
    bool right = error == ROPEWAY_TEMPLATE_OK ? is_expected(&result, line)
                                              : is_expected_error(error, message, line);
    bool expected = right != is_known(name, case_name);
    known_count += !right && expected;
    if (!expected)
        printf("%s, %s: error %d %s\n", name, case_name, error, message);
    ropeway_template_result_free(&result);
    free(context);
    return expected;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    const char *shared = getenv("ROPEWAY_SHARED");
    char folder[2048], path[4096];
    snprintf(folder, sizeof folder, "%s/reference", shared ? shared : argv[1]);
    snprintf(path, sizeof path, "%s/templates.jsonl", folder);
    FILE *file = fopen(path, "rb");
    if (!file) {
        printf("skipped: there is no %s\n", path);
        return SKIPPED;
    }
    char *text = NULL;
    size_t capacity = 0, lines_count = 0, wrong_count = 0;
    while (getline(&text, &capacity, file) > 0) {
        json_t *line = json_loads(text, JSON_ALLOW_NUL, NULL);
        lines_count++;
        wrong_count += !line || !check_line(folder, line);
        json_decref(line);
    }
    free(text);
    fclose(file);
    for (size_t i = 0; i < templates_count; i++)
        ropeway_template_free(templates[i].compiled);
    printf("of %zu cases %zu are known to differ, %zu are not as expected\n", lines_count,
           known_count, wrong_count);
    return wrong_count > 0 || lines_count == 0;
}
