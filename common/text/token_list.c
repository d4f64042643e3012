#include "common/text/tokenizer.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64

void token_list_init(struct token_list *list, size_t bound)
{
    *list = (struct token_list){.bound = bound};
}

void token_list_fini(struct token_list *list)
{
    free(list->ids);
    *list = (struct token_list){0};
}

static bool grow(struct token_list *list)
{
    size_t capacity = list->capacity ? list->capacity * 2 : FIRST_CAPACITY;
    if (capacity > list->bound)
        capacity = list->bound;
    uint32_t *ids = realloc(list->ids, capacity * sizeof *ids);
    if (!ids)
        return false;
    list->ids = ids;
    list->capacity = capacity;
    return true;
}

bool token_list_push(struct token_list *list, uint32_t id)
{
    if (list->count == list->bound || (list->count == list->capacity && !grow(list)))
        return false;
    list->ids[list->count++] = id;
    return true;
}
