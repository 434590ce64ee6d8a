#include "mirror/calls.h"

#include <sched.h>

#define PORTION 64

size_t calls_send_many(struct calls *c, struct call *const *calls, size_t n) {
    void *some[PORTION];
    size_t sent = 0, tried = 0;
    while (sent == tried && sent < n) {
        size_t m = 0;
        for (; m < PORTION && tried < n; m++, tried++) {
            calls[tried]->letter = LETTER_CALL;
            calls[tried]->cancelled = false;
            some[m] = calls[tried];
        }
        sent += queue_push_many(&c->queue, some, m);
        if (sent)
            c->wake(c->wake_arg);
    }
    return sent;
}

bool calls_send(struct calls *c, struct call *call) {
    return calls_send_many(c, &call, 1) == 1;
}

void mailbox_init(struct mailbox *m, size_t slots, void (*wake)(void *arg), void *wake_arg) {
    *m = (struct mailbox){.wake = wake, .wake_arg = wake_arg};
    queue_init(&m->queue, slots);
}

void mailbox_release(struct mailbox *m) {
    while (atomic_load(&m->putting))
        sched_yield();
    queue_release(&m->queue);
}

/* The owner may go as soon as it has the letter; the count keeps the box until we are done. */
void mailbox_put_many(struct mailbox *m, void *const *letters, size_t n) {
    atomic_fetch_add(&m->putting, 1);
    queue_push_many(&m->queue, letters, n);
    if (m->wake)
        m->wake(m->wake_arg);
    atomic_fetch_sub(&m->putting, 1);
}

void mailbox_put(struct mailbox *m, void *letter) {
    mailbox_put_many(m, &letter, 1);
}

void *mailbox_take(struct mailbox *m, int wait_ms) {
    return queue_pop(&m->queue, wait_ms);
}

size_t mailbox_take_many(struct mailbox *m, void **out, size_t max, int wait_ms) {
    return queue_pop_many(&m->queue, out, max, wait_ms);
}
