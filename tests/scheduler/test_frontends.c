/* Every token reaches its frontend once: polls, lost replies, re-attaches. */
#include "common/base/time_units.h"
#include "scheduler/frontends.h"
#include "tests/scheduler/toy.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define HOLD_MS 1000u

struct desk {
    struct toy toy;
    struct frontends *frontends;
    uint64_t number;
    uint32_t context;
};

static void open_desk(struct desk *desk)
{
    struct fault fault;
    *desk = (struct desk){.number = 0};
    toy_open(&desk->toy, toy_geometry(64, 4, 12, 16), toy_options(8));
    desk->frontends = frontends_create(&desk->toy.control, desk->toy.scheduler);
    cr_assert_eq(frontends_meet(desk->frontends, TOY_FRONTEND, 1, &fault), STATUS_OK);
}

static void close_desk(struct desk *desk)
{
    frontends_destroy(desk->frontends);
    toy_close(&desk->toy);
}

static uint32_t submit(struct desk *desk, const struct toy_request *request)
{
    uint32_t record = toy_submit(&desk->toy, request);
    frontends_carry(desk->frontends, record, TOY_FRONTEND);
    return record;
}

static void turn(struct desk *desk)
{
    toy_turn(&desk->toy);
    uint32_t record;
    while ((record = scheduler_next_news(desk->toy.scheduler)) != RECORD_NONE)
        frontends_note(desk->frontends, record);
}

static enum status send(struct desk *desk, struct poll_request poll)
{
    struct fault fault;
    uint32_t dropped;
    return frontends_poll(desk->frontends, &poll, ++desk->context, desk->toy.now_ns,
                          &dropped, &fault);
}

/* The reply to the poll sent last, or nothing. */
static bool receive(struct desk *desk, struct poll_reply *reply)
{
    uint32_t context = frontends_next_ready(desk->frontends, desk->toy.now_ns, reply);
    if (context == HELD_NONE)
        return false;
    cr_assert_eq(context, desk->context);
    cr_assert_eq(reply->status, STATUS_OK);
    return true;
}

static struct poll_request poll_number(uint64_t number)
{
    return (struct poll_request){
        .frontend = TOY_FRONTEND, .number = number, .hold_ms = HOLD_MS};
}

static void assert_event(const struct poll_reply *reply, uint32_t from, uint32_t count,
                         enum request_state state)
{
    cr_assert_eq(reply->events_count, 1);
    cr_assert_eq(reply->events[0].from, from);
    cr_assert_eq(wire_u32_count(reply->events[0].tokens), count);
    cr_assert_eq(reply->events[0].state, state);
}

static const struct toy_request request = {.id = "a", .prompt_count = 3, .max_tokens = 4};

Test(frontends, a_poll_is_held_until_there_is_news)
{
    struct desk desk;
    struct poll_reply reply;
    open_desk(&desk);
    submit(&desk, &request);
    cr_assert_eq(send(&desk, poll_number(1)), STATUS_OK);
    cr_assert_not(receive(&desk, &reply));
    turn(&desk);
    cr_assert(receive(&desk, &reply));
    assert_event(&reply, 0, 1, REQUEST_DECODE);
    cr_assert_eq(reply.number, 1);
    cr_assert_not(receive(&desk, &reply));
    close_desk(&desk);
}

Test(frontends, a_poll_without_news_is_answered_when_its_hold_ends)
{
    struct desk desk;
    struct poll_reply reply;
    open_desk(&desk);
    send(&desk, poll_number(1));
    uint64_t deadline_ns = desk.toy.now_ns + HOLD_MS * NS_PER_MS;
    cr_assert_eq(frontends_next_deadline_ns(desk.frontends), deadline_ns);
    desk.toy.now_ns = deadline_ns - 1;
    cr_assert_not(receive(&desk, &reply));
    desk.toy.now_ns = deadline_ns;
    cr_assert(receive(&desk, &reply));
    cr_assert_eq(reply.events_count, 0);
    cr_assert_eq(frontends_next_deadline_ns(desk.frontends), UINT64_MAX);
    close_desk(&desk);
}

Test(frontends, the_next_number_gets_only_what_is_new_and_the_end_with_the_last_token)
{
    struct desk desk;
    struct poll_reply reply;
    open_desk(&desk);
    uint32_t record = submit(&desk, &request), expected[TOY_TOKENS_MAX];
    toy_expect(&request, expected);
    for (uint32_t i = 0; i < 4; i++) {
        turn(&desk);
        send(&desk, poll_number(i + 1));
        cr_assert(receive(&desk, &reply));
        assert_event(&reply, i, 1, i == 3 ? REQUEST_DONE : REQUEST_DECODE);
        cr_assert_eq(wire_u32(reply.events[0].tokens, 0), expected[i]);
    }
    cr_assert_eq(reply.events[0].finish_reason, FINISH_LENGTH);
    cr_assert_eq(reply.events[0].prompt_tokens_count, 3);
    /* The end is acknowledged by the poll behind it, and only then may be forgotten. */
    scheduler_tidy(desk.toy.scheduler, desk.toy.now_ns + desk.toy.options.done_kept_ns);
    cr_assert_eq(request_state(toy_record(&desk.toy, record)), REQUEST_DONE);
    send(&desk, poll_number(5));
    cr_assert_not(receive(&desk, &reply));
    scheduler_tidy(desk.toy.scheduler, desk.toy.now_ns + desk.toy.options.done_kept_ns);
    cr_assert_eq(request_state(toy_record(&desk.toy, record)), REQUEST_FREE);
    close_desk(&desk);
}

Test(frontends, a_number_sent_again_tells_the_lost_reply_and_what_came_since)
{
    struct desk desk;
    struct poll_reply reply;
    open_desk(&desk);
    submit(&desk, &request);
    turn(&desk);
    send(&desk, poll_number(1));
    cr_assert(receive(&desk, &reply));
    turn(&desk);
    send(&desk, poll_number(2));
    cr_assert(receive(&desk, &reply));
    assert_event(&reply, 1, 1, REQUEST_DECODE);
    turn(&desk);
    turn(&desk);
    send(&desk, poll_number(2));
    cr_assert(receive(&desk, &reply));
    assert_event(&reply, 1, 3, REQUEST_DONE);
    send(&desk, poll_number(2));
    cr_assert(receive(&desk, &reply));
    assert_event(&reply, 1, 3, REQUEST_DONE);
    close_desk(&desk);
}

Test(frontends, a_newer_poll_drops_the_held_one)
{
    struct desk desk;
    struct fault fault;
    uint32_t dropped;
    open_desk(&desk);
    struct poll_request poll = poll_number(1);
    frontends_poll(desk.frontends, &poll, 10, 1, &dropped, &fault);
    cr_assert_eq(dropped, HELD_NONE);
    frontends_poll(desk.frontends, &poll, 11, 1, &dropped, &fault);
    cr_assert_eq(dropped, 10);
    close_desk(&desk);
}

Test(frontends, no_token_is_told_after_a_cancel)
{
    struct desk desk;
    struct poll_reply reply;
    open_desk(&desk);
    uint32_t record = submit(&desk, &request);
    turn(&desk);
    send(&desk, poll_number(1));
    receive(&desk, &reply);
    turn(&desk);
    scheduler_cancel(desk.toy.scheduler, record, FINISH_STOP, desk.toy.now_ns);
    frontends_freeze(desk.frontends, record);
    turn(&desk);
    send(&desk, poll_number(2));
    cr_assert(receive(&desk, &reply));
    assert_event(&reply, 1, 0, REQUEST_DONE);
    cr_assert_eq(reply.events[0].finish_reason, FINISH_STOP);
    close_desk(&desk);
}

Test(frontends, another_frontend_claims_a_request_where_it_stands)
{
    struct desk desk;
    struct poll_reply reply;
    struct fault fault;
    open_desk(&desk);
    uint32_t record = submit(&desk, &request);
    turn(&desk);
    turn(&desk);
    turn(&desk);
    cr_assert_eq(frontends_meet(desk.frontends, TOY_FRONTEND + 1, 1, &fault), STATUS_OK);
    struct poll_cursor cursor = {.id = SPAN_LITERAL("a"), .tokens_count = 2};
    struct poll_request poll = {.frontend = TOY_FRONTEND + 1,
                                .number = 1,
                                .cursors = &cursor,
                                .cursors_count = 1};
    send(&desk, poll);
    cr_assert(receive(&desk, &reply));
    assert_event(&reply, 2, 1, REQUEST_DECODE);
    cr_assert_eq(toy_record(&desk.toy, record)->frontend, TOY_FRONTEND + 1);
    send(&desk, poll_number(1));
    cr_assert_not(receive(&desk, &reply));
    close_desk(&desk);
}

Test(frontends, a_cursor_of_an_unknown_request_is_told_as_failed)
{
    struct desk desk;
    struct poll_reply reply;
    open_desk(&desk);
    struct poll_cursor cursor = {
        .id = SPAN_LITERAL("gone"), .choice = 2, .tokens_count = 5};
    struct poll_request poll = poll_number(9);
    cr_assert_eq(send(&desk, poll), STATUS_NOT_FOUND);
    poll.cursors = &cursor;
    poll.cursors_count = 1;
    for (int again = 0; again < 2; again++) {
        cr_assert_eq(send(&desk, poll), STATUS_OK);
        cr_assert(receive(&desk, &reply));
        assert_event(&reply, 5, 0, REQUEST_DONE);
        cr_assert(span_equal(reply.events[0].id, cursor.id));
        cr_assert_eq(reply.events[0].choice, 2);
        cr_assert_eq(reply.events[0].finish_reason, FINISH_FAILED);
        cr_assert_eq(reply.events[0].failure, STATUS_UNAVAILABLE);
    }
    send(&desk, poll_number(10));
    cr_assert_not(receive(&desk, &reply));
    close_desk(&desk);
}

Test(frontends, more_events_than_one_reply_holds_come_with_the_next)
{
    struct desk desk;
    struct poll_reply reply;
    static struct poll_cursor cursors[POLL_EVENTS_MAX + 10];
    static char ids[POLL_EVENTS_MAX + 10][8];
    open_desk(&desk);
    for (uint32_t i = 0; i < POLL_EVENTS_MAX + 10; i++) {
        snprintf(ids[i], sizeof ids[i], "g%u", i);
        cursors[i] = (struct poll_cursor){.id = span_of(ids[i])};
    }
    struct poll_request poll = poll_number(1);
    poll.cursors = cursors;
    poll.cursors_count = POLL_EVENTS_MAX + 10;
    send(&desk, poll);
    cr_assert(receive(&desk, &reply));
    cr_assert_eq(reply.events_count, POLL_EVENTS_MAX);
    send(&desk, poll_number(2));
    cr_assert(receive(&desk, &reply));
    cr_assert_eq(reply.events_count, 10);
    cr_assert(span_equal(reply.events[9].id, span_of(ids[POLL_EVENTS_MAX + 9])));
    close_desk(&desk);
}

Test(frontends, a_silent_frontend_is_forgotten_and_its_ended_requests_may_be)
{
    struct desk desk;
    struct poll_reply reply;
    open_desk(&desk);
    uint32_t record = submit(&desk, &request);
    send(&desk, poll_number(1));
    for (int i = 0; i < 4; i++)
        turn(&desk);
    receive(&desk, &reply);
    uint64_t seen_ns = desk.toy.now_ns;
    frontends_tidy(desk.frontends, seen_ns + FRONTEND_SILENCE_NS_MAX - 1);
    scheduler_tidy(desk.toy.scheduler, seen_ns + 2 * desk.toy.options.done_kept_ns);
    cr_assert_eq(request_state(toy_record(&desk.toy, record)), REQUEST_DONE);
    frontends_tidy(desk.frontends, seen_ns + FRONTEND_SILENCE_NS_MAX);
    scheduler_tidy(desk.toy.scheduler, seen_ns + 2 * desk.toy.options.done_kept_ns);
    cr_assert_eq(request_state(toy_record(&desk.toy, record)), REQUEST_FREE);
    close_desk(&desk);
}
