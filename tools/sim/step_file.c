#include "tools/sim/step_file.h"

#include "common/base/names.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    FILE *in;
    char *line; /* [STEP_LINE_BYTES_MAX] */
    size_t line_size;
    uint32_t line_number;
    size_t bytes_left; /* of STEP_FILE_BYTES_MAX */
};

/* --- a line's fields ---------------------------------------------------------------- */

static enum status refuse_field(const struct reader *reader, const char *key,
                                const char *why, struct fault *fault)
{
    return fault_set(fault, STATUS_INVALID, key, "line %u: %s %s", reader->line_number,
                     key, why);
}

/* A request_id is printed in tables and sentences: one of control characters would write
 * to a terminal as it likes. */
static bool is_printable(struct span text)
{
    static const unsigned char delete_character = 0x7F;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte < ' ' || byte == delete_character)
            return false;
    }
    return true;
}

static enum status read_text(const struct reader *reader, const json_t *object,
                             const char *key, struct span *text, struct fault *fault)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL)
        return refuse_field(reader, key, "is missing", fault);
    if (!json_is_string(value))
        return refuse_field(reader, key, "must be a string", fault);
    *text = (struct span){json_string_value(value), json_string_length(value)};
    return STATUS_OK;
}

static enum status read_number(const struct reader *reader, const json_t *object,
                               const char *key, int64_t fallback, int64_t *number,
                               struct fault *fault)
{
    const json_t *value = json_object_get(object, key);
    if (value != NULL && !json_is_integer(value))
        return refuse_field(reader, key, "must be an integer", fault);
    *number = value == NULL ? fallback : json_integer_value(value);
    return STATUS_OK;
}

static enum status check_request_id(const struct reader *reader, struct span id,
                                    struct fault *fault)
{
    if (id.size == 0)
        return refuse_field(reader, "request_id", "must not be empty", fault);
    if (id.size > STEP_REQUEST_ID_BYTES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "request_id",
                         "line %u: request_id is longer than %d bytes",
                         reader->line_number, STEP_REQUEST_ID_BYTES_MAX);
    if (!is_printable(id))
        return refuse_field(reader, "request_id", "holds a control character", fault);
    return STATUS_OK;
}

static const char *const known[] = {"request_id", "prompt", "max_new_tokens",
                                    "arrival_step", "eos_after"};

#define KNOWN_COUNT sizeof known / sizeof *known

static const char *known_at(size_t index)
{
    return index < KNOWN_COUNT ? known[index] : NULL;
}

static bool is_known(const char *key)
{
    for (size_t i = 0; i < KNOWN_COUNT; i++)
        if (strcmp(key, known[i]) == 0)
            return true;
    return false;
}

static enum status check_keys(const struct reader *reader, json_t *object,
                              struct fault *fault)
{
    char names[FAULT_SENTENCE_BYTES];
    const char *key;
    json_t *value;
    json_object_foreach (object, key, value) {
        if (is_known(key))
            continue;
        return fault_set(fault, STATUS_INVALID, "",
                         "line %u: unknown field '%.64s'; known are %s",
                         reader->line_number,
                         is_printable(span_of(key)) ? key : "(control characters)",
                         names_join(known_at, names, sizeof names));
    }
    return STATUS_OK;
}

static enum status read_request(const struct reader *reader, json_t *object,
                                struct step_request *request, int64_t *eos_after,
                                struct fault *fault)
{
    enum status status = check_keys(reader, object, fault);
    if (status == STATUS_OK)
        status = read_text(reader, object, "request_id", &request->request_id, fault);
    if (status == STATUS_OK)
        status = check_request_id(reader, request->request_id, fault);
    if (status == STATUS_OK)
        status = read_text(reader, object, "prompt", &request->prompt, fault);
    if (status == STATUS_OK)
        status =
            read_number(reader, object, "max_new_tokens", STEP_MAX_NEW_TOKENS_DEFAULT,
                        &request->max_new_tokens, fault);
    if (status == STATUS_OK)
        status = read_number(reader, object, "arrival_step", STEP_ARRIVAL_STEP_DEFAULT,
                             &request->arrival_step, fault);
    if (status == STATUS_OK)
        status =
            read_number(reader, object, "eos_after", STEP_EOS_NEVER, eos_after, fault);
    if (status == STATUS_OK && *eos_after < 1 &&
        json_object_get(object, "eos_after") != NULL)
        return refuse_field(reader, "eos_after", "must be at least 1", fault);
    return status;
}

/* --- lines -------------------------------------------------------------------------- */

static bool is_blank(const struct reader *reader)
{
    for (size_t i = 0; i < reader->line_size; i++)
        if (strchr(" \t\r", reader->line[i]) == NULL || reader->line[i] == '\0')
            return false;
    return true;
}

static enum status parse_line(const struct reader *reader, json_t **object,
                              struct fault *fault)
{
    json_error_t error;
    *object = json_loadb(reader->line, reader->line_size, JSON_REJECT_DUPLICATES, &error);
    if (*object != NULL && json_is_object(*object))
        return STATUS_OK;
    if (*object != NULL)
        return fault_set(fault, STATUS_MALFORMED, "", "line %u is not a JSON object",
                         reader->line_number);
    if (json_error_code(&error) == json_error_duplicate_key)
        return fault_set(fault, STATUS_MALFORMED, "", "line %u has a repeated key",
                         reader->line_number);
    return fault_set(fault, STATUS_MALFORMED, "", "line %u is not JSON (column %d)",
                     reader->line_number, error.column);
}

/* The next line without its end; *more is false at the end of the file. */
static enum status read_line(struct reader *reader, bool *more, struct fault *fault)
{
    int byte;
    reader->line_size = 0;
    reader->line_number++;
    while ((byte = getc(reader->in)) != EOF && byte != '\n') {
        if (reader->line_size == STEP_LINE_BYTES_MAX)
            return fault_set(fault, STATUS_TOO_LARGE, "",
                             "line %u is longer than %d bytes", reader->line_number,
                             STEP_LINE_BYTES_MAX);
        reader->line[reader->line_size++] = (char)byte;
    }
    if (ferror(reader->in))
        return fault_set(fault, STATUS_IO, "", "line %u cannot be read: %s",
                         reader->line_number, strerror(errno));
    if (reader->bytes_left < reader->line_size + 1)
        return fault_set(fault, STATUS_TOO_LARGE, "", "the file is longer than %d bytes",
                         STEP_FILE_BYTES_MAX);
    reader->bytes_left -= reader->line_size + 1;
    *more = byte != EOF || reader->line_size > 0;
    return STATUS_OK;
}

static enum status take_line(struct step_file *file, const struct reader *reader,
                             struct fault *fault)
{
    uint32_t index = file->count;
    if (is_blank(reader))
        return STATUS_OK;
    if (index == STEP_REQUESTS_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "requests",
                         "line %u: there are more than %d requests", reader->line_number,
                         STEP_REQUESTS_MAX);
    enum status status = parse_line(reader, &file->objects[index], fault);
    file->count++;
    if (status != STATUS_OK)
        return status;
    file->lines[index] = reader->line_number;
    return read_request(reader, file->objects[index], &file->requests[index],
                        &file->eos_after[index], fault);
}

static enum status read_lines(struct step_file *file, struct reader *reader,
                              struct fault *fault)
{
    bool more = true;
    enum status status = read_line(reader, &more, fault);
    while (status == STATUS_OK && more) {
        status = take_line(file, reader, fault);
        if (status == STATUS_OK)
            status = read_line(reader, &more, fault);
    }
    return status;
}

/* --- the file ----------------------------------------------------------------------- */

enum status step_file_read(struct step_file *file, FILE *in, struct fault *fault)
{
    struct reader reader = {.in = in, .bytes_left = STEP_FILE_BYTES_MAX};
    *file = (struct step_file){
        .requests = calloc(STEP_REQUESTS_MAX, sizeof *file->requests),
        .eos_after = calloc(STEP_REQUESTS_MAX, sizeof *file->eos_after),
        .lines = calloc(STEP_REQUESTS_MAX, sizeof *file->lines),
        .objects = calloc(STEP_REQUESTS_MAX, sizeof(json_t *))};
    reader.line = malloc(STEP_LINE_BYTES_MAX);
    enum status status =
        file->requests != NULL && file->eos_after != NULL && file->lines != NULL &&
                file->objects != NULL && reader.line != NULL
            ? read_lines(file, &reader, fault)
            : fault_set(fault, STATUS_NO_SPACE, "", "no memory for a step file");
    free(reader.line);
    return status;
}

void step_file_fini(struct step_file *file)
{
    for (uint32_t i = 0; i < file->count; i++)
        json_decref(file->objects[i]);
    free(file->objects);
    free(file->lines);
    free(file->eos_after);
    free(file->requests);
    *file = (struct step_file){0};
}
