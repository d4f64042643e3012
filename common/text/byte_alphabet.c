#include "common/text/byte_alphabet.h"

#include "common/text/utf8.h"

#define SHIFTED_FIRST 0x100u
#define SHIFTED_COUNT 68

/* The bytes that stand for no code point of their own are three ranges. */
static const struct {
    uint8_t first, last;
} shifted[] = {{0x00, 0x20}, {0x7F, 0xA0}, {0xAD, 0xAD}};

static bool is_shifted(uint32_t code)
{
    for (size_t i = 0; i < sizeof shifted / sizeof shifted[0]; i++)
        if (code >= shifted[i].first && code <= shifted[i].last)
            return true;
    return false;
}

/* The byte that code stands for, or -1. */
static int byte_of(uint32_t code)
{
    if (code <= 0xFF)
        return is_shifted(code) ? -1 : (int)code;
    if (code >= SHIFTED_FIRST + SHIFTED_COUNT)
        return -1;
    uint32_t left = code - SHIFTED_FIRST;
    size_t range = 0;
    while (left > (uint32_t)(shifted[range].last - shifted[range].first)) {
        left -= (uint32_t)(shifted[range].last - shifted[range].first) + 1;
        range++;
    }
    return shifted[range].first + (int)left;
}

size_t byte_alphabet_decode(struct span text, char *bytes)
{
    size_t size = 0;
    while (text.size > 0) {
        struct utf8_step step = utf8_next(text);
        int byte = step.kind == UTF8_WHOLE ? byte_of(step.code) : -1;
        if (byte >= 0) {
            bytes[size++] = (char)byte;
        } else {
            memcpy(bytes + size, text.data, step.size);
            size += step.size;
        }
        text.data += step.size;
        text.size -= step.size;
    }
    return size;
}
