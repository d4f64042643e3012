/* protocol_doc.c - prints docs/PROTOCOL.md from the messages' tables.
 *
 * Use:  cmake --build build --target protocol_doc_write, after a change of a table. A
 * test compares what this prints with the file, so the two cannot differ.
 */
#include "common/base/invariant.h"
#include "proto/message_table.h"
#include <stdio.h>
#include <stdlib.h>

static const char introduction[] =
    "# What the processes say to one another\n"
    "\n"
    "Printed by `proto/protocol_doc.c` from the tables of `proto/message_table.c`: "
    "change "
    "the\ntables, then run `cmake --build build --target protocol_doc_write`.\n"
    "\n"
    "A message is one msgpack map, sent over nng's REQ/REP through\n"
    "`ipc://<runtime dir>/scheduler.ipc`. Frontends send `submit`, `poll`, `cancel`, "
    "`status` and\n`drain`; workers send `attach` and `beat`. Every request has one "
    "reply.\n"
    "\n"
    "- `op` is a request's first field; the others may come in any order.\n"
    "- A field that is not in the table, one that is there twice, another type, a value "
    "over its\n  bound, a required field that is missing or bytes behind the map: the "
    "message is refused as\n  `malformed`, and the reply's sentence names the field.\n"
    "- Arrays of numbers travel as `bin`, little-endian, without padding.\n"
    "- Every operation may be sent again after a lost reply: `submit` answers as the "
    "first "
    "time for\n  the same id, choice and body_digest; `poll` repeats the events of the "
    "same number; `cancel`,\n  `attach` and `beat` change nothing the second time.\n";

static const char *type_name(const struct message_field *field)
{
    static const char *const names[WIRE_KINDS] = {
        [WIRE_U8] = "integer",  [WIRE_U32] = "integer", [WIRE_U64] = "integer",
        [WIRE_I32] = "integer", [WIRE_I64] = "integer", [WIRE_F32] = "float",
        [WIRE_BOOL] = "bool",   [WIRE_STATUS] = "str",  [WIRE_TEXT] = "str",
        [WIRE_BYTES] = "bin",   [WIRE_ARRAY] = "array"};
    INVARIANT(names[field->kind] != NULL);
    return names[field->kind];
}

static void print_bound(const struct message_field *field)
{
    switch (field->kind) {
    case WIRE_U8:
        printf("0 to %u", field->bound ? field->bound : UINT8_MAX);
        return;
    case WIRE_U32:
        printf("0 to %u", field->bound ? field->bound : UINT32_MAX);
        return;
    case WIRE_U64:
        printf("64 bits");
        return;
    case WIRE_I32:
        printf("32 bits, signed");
        return;
    case WIRE_I64:
        printf("64 bits, signed");
        return;
    case WIRE_STATUS:
        printf("a status's name");
        return;
    case WIRE_TEXT:
    case WIRE_BYTES:
        printf("up to %u bytes", field->bound);
        return;
    case WIRE_ARRAY:
        printf("up to %u of `%s`", field->bound, field->items->name);
        return;
    default:
        return;
    }
}

static void print_field(const struct message_field *field)
{
    printf("| `%s` | %s | ", field->name, type_name(field));
    print_bound(field);
    printf(" | %s | %s |\n", field->is_required ? "yes" : "", field->meaning);
}

static void print_fields(const struct message_table *table)
{
    printf("\n| field | type | bound | required | meaning |\n");
    printf("|---|---|---|---|---|\n");
    if (table->op != NULL)
        printf("| `op` | str | | yes | \"%s\" |\n", table->op);
    for (uint32_t i = 0; i < table->fields_count; i++)
        print_field(&table->fields[i]);
}

static void print_message(const struct message_table *table)
{
    if (table->op != NULL)
        printf("\n## %s\n", table->op);
    printf("\n`%s`\n", table->name);
    print_fields(table);
    for (uint32_t i = 0; i < table->fields_count; i++) {
        if (table->fields[i].kind != WIRE_ARRAY)
            continue;
        printf("\n`%s`, an item of `%s`\n", table->fields[i].items->name,
               table->fields[i].name);
        print_fields(table->fields[i].items);
    }
}

static void print_statuses(void)
{
    printf("\n## Statuses\n\nOn the wire by name; the frontend answers HTTP clients with "
           "the code.\n\n| name | HTTP |\n|---|---|\n");
    for (int status = 0; status < STATUS_COUNT; status++)
        printf("| `%s` | %d |\n", status_wire_name((enum status)status),
               status_http_code((enum status)status));
}

int main(void)
{
    printf("%s", introduction);
    for (int i = 0; i < MESSAGE_TABLES_COUNT; i++)
        print_message(message_tables[i]);
    print_statuses();
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
