#include "frontend/core/msgpack_json.h"

#include "frontend/core/json_body.h"
#include "proto/wire_reader.h"

#define NIL 0xC0

/* NULL for whatever is refused; json_decref of NULL does nothing. */
static json_t *read_value(struct wire_reader *reader, int depth);

static json_t *read_array(struct wire_reader *reader, uint32_t count, int depth)
{
    json_t *array = json_array();
    for (uint32_t place = 0; place < count; place++) {
        if (json_array_append_new(array, read_value(reader, depth + 1)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static bool read_pair(struct wire_reader *reader, json_t *object, int depth)
{
    struct span key;
    char name[256];
    if (!wire_read_text(reader, &key) || key.size >= sizeof name ||
        memchr(key.data, '\0', key.size))
        return false;
    memcpy(name, key.data, key.size);
    name[key.size] = '\0';
    return !json_object_get(object, name) &&
           json_object_set_new(object, name, read_value(reader, depth + 1)) == 0;
}

static json_t *read_map(struct wire_reader *reader, uint32_t count, int depth)
{
    json_t *object = json_object();
    for (uint32_t place = 0; place < count; place++) {
        if (!read_pair(reader, object, depth)) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *read_value(struct wire_reader *reader, int depth)
{
    uint32_t count;
    struct span text;
    int64_t integer;
    double real;
    bool flag;
    if (depth > JSON_DEPTH_MAX)
        return NULL;
    if (!wire_at_end(reader) && *reader->at == NIL) {
        reader->at++;
        return json_null();
    }
    if (wire_read_map(reader, &count))
        return read_map(reader, count, depth);
    if (wire_read_array(reader, &count))
        return read_array(reader, count, depth);
    if (wire_read_text(reader, &text) || wire_read_bytes(reader, &text))
        return json_stringn(text.size ? text.data : "", text.size);
    if (wire_read_bool(reader, &flag))
        return json_boolean(flag);
    if (wire_read_i64(reader, &integer))
        return json_integer(integer);
    return wire_read_f64(reader, &real) ? json_real(real) : NULL;
}

enum status msgpack_json_read(struct span bytes, json_t **root, struct fault *fault)
{
    struct wire_reader reader = wire_reader_of(bytes);
    *root = read_value(&reader, 0);
    if (json_is_object(*root) && wire_at_end(&reader))
        return STATUS_OK;
    json_decref(*root);
    *root = NULL;
    return fault_set(fault, STATUS_MALFORMED, NULL,
                     "The message is no msgpack map of texts, numbers, lists and maps.");
}

/* --- writing --------------------------------------------------------------------- */

static void put_big_endian(struct buffer *out, uint64_t value, int bytes)
{
    for (int at = bytes - 1; at >= 0; at--)
        buffer_append_byte(out, (char)(value >> (8 * at)));
}

/* First bytes of the format's 32-bit lengths, which hold any of ours. */
enum {
    FIRST_FALSE = 0xC2,
    FIRST_TRUE = 0xC3,
    FIRST_FLOAT64 = 0xCB,
    FIRST_INT64 = 0xD3,
    FIRST_STR32 = 0xDB,
    FIRST_ARRAY32 = 0xDD,
    FIRST_MAP32 = 0xDF
};

static void put_text(struct buffer *out, struct span text)
{
    buffer_append_byte(out, (char)FIRST_STR32);
    put_big_endian(out, text.size, 4);
    buffer_append_span(out, text);
}

static void put_real(struct buffer *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    buffer_append_byte(out, (char)FIRST_FLOAT64);
    put_big_endian(out, bits, 8);
}

static void put_array(struct buffer *out, const json_t *array)
{
    buffer_append_byte(out, (char)FIRST_ARRAY32);
    put_big_endian(out, json_array_size(array), 4);
    for (size_t place = 0; place < json_array_size(array); place++)
        msgpack_json_write(out, json_array_get(array, place));
}

static void put_map(struct buffer *out, const json_t *object)
{
    const char *key;
    json_t *value;
    buffer_append_byte(out, (char)FIRST_MAP32);
    put_big_endian(out, json_object_size(object), 4);
    json_object_foreach ((json_t *)object, key, value) {
        put_text(out, span_of(key));
        msgpack_json_write(out, value);
    }
}

void msgpack_json_write(struct buffer *out, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        put_map(out, value);
        break;
    case JSON_ARRAY:
        put_array(out, value);
        break;
    case JSON_STRING:
        put_text(out, json_body_text(value));
        break;
    case JSON_INTEGER:
        buffer_append_byte(out, (char)FIRST_INT64);
        put_big_endian(out, (uint64_t)json_integer_value(value), 8);
        break;
    case JSON_REAL:
        put_real(out, json_real_value(value));
        break;
    case JSON_TRUE:
        buffer_append_byte(out, (char)FIRST_TRUE);
        break;
    case JSON_FALSE:
        buffer_append_byte(out, (char)FIRST_FALSE);
        break;
    case JSON_NULL:
        buffer_append_byte(out, (char)NIL);
        break;
    }
}
