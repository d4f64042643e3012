#include "common/base/map.h"
#include <criterion/criterion.h>
#include <stdio.h>

Test(map, finds_every_key_and_no_other)
{
    enum { COUNT = 5000 };
    static char keys[COUNT][16];
    struct map map;
    cr_assert(map_init(&map, COUNT));
    for (uint32_t i = 0; i < COUNT; i++) {
        int size = snprintf(keys[i], sizeof keys[i], "%u", i * 7919);
        cr_assert_eq(map_put(&map, (struct span){keys[i], (size_t)size}, i), i);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        struct span key = span_of(keys[i]);
        cr_assert_eq(map_find(&map, key), i);
        /* The same bytes with one more or fewer are another key. */
        struct span longer = {keys[i], key.size + 1};
        cr_assert_eq(map_find(&map, longer), MAP_NONE);
    }
    cr_assert_eq(map_find(&map, SPAN_LITERAL("x")), MAP_NONE);
    map_fini(&map);
}

Test(map, keeps_the_first_value_of_a_key)
{
    struct map map;
    cr_assert(map_init(&map, 2));
    cr_assert_eq(map_put(&map, SPAN_LITERAL(""), 5), 5);
    cr_assert_eq(map_put(&map, SPAN_LITERAL(""), 6), 5);
    cr_assert_eq(map_find(&map, SPAN_LITERAL("")), 5);
    map_fini(&map);
}
