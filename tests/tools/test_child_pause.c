#include "tools/serve/child.h"
#include <criterion/criterion.h>

#define MS UINT64_C(1000000)

Test(child, the_first_restart_waits_for_nothing_and_no_pause_is_endless)
{
    cr_assert_eq(child_pause_ns(0), 0);
    cr_assert_eq(child_pause_ns(1), 0);
    cr_assert_eq(child_pause_ns(2), 50 * MS);
    cr_assert_eq(child_pause_ns(3), 100 * MS);
    cr_assert_eq(child_pause_ns(4), 200 * MS);
    cr_assert_eq(child_pause_ns(9), 5000 * MS);
    cr_assert_eq(child_pause_ns(UINT32_MAX), 5000 * MS);
}
