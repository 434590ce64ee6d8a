#include "enrich/link_metrics.h"

#define NAME(ID, name, ...) [LINK_##ID] = #name,
static const char *const tasks[LINK_TASKS] = {[LINK_REVERSE] = "reverse_lookup",
                                              LINK_TASK_TABLE(NAME)};
/* In the order of enum link_status, without LINK_NONE. */
static const char *const statuses[] = {"pending", "completed", "not_found", "failed", "skipped"};
#define N_STATUSES (LINK_STATUSES - 1)

static struct metric m_done = {.name = "tain_links_tasks_done_total",
                               .help = "Tasks of links that this process brought to an end.",
                               .measure = "tasks",
                               .type = METRIC_COUNTER,
                               .label = "task",
                               .label_values = tasks,
                               .label2 = "status",
                               .label2_values = statuses,
                               .n_label2 = N_STATUSES,
                               .n_series = LINK_TASKS * N_STATUSES};
static struct metric m_raced = {
    .name = "tain_links_raced_total",
    .help = "Tasks that were taken from this process before it had written what came of them.",
    .measure = "tasks",
    .type = METRIC_COUNTER,
    .n_series = 1};
static struct metric m_tasks = {.name = "tain_links_tasks",
                                .help = "Tasks of all links by status, as counted the last time.",
                                .measure = "tasks",
                                .type = METRIC_GAUGE,
                                .label = "task",
                                .label_values = tasks,
                                .label2 = "status",
                                .label2_values = statuses,
                                .n_label2 = N_STATUSES,
                                .n_series = LINK_TASKS * N_STATUSES};
static struct metric m_oldest = {
    .name = "tain_links_oldest_pending_seconds",
    .help = "Age of the oldest link whose first look is pending; 0: there is none.",
    .measure = "seconds",
    .type = METRIC_GAUGE,
    .label = "task",
    .label_values = tasks,
    .n_series = LINK_TASKS,
    .unit = 0.001};
static struct metric m_waiting = {.name = "tain_links_waiting",
                                  .help = "Links that somebody waits for.",
                                  .measure = "links",
                                  .type = METRIC_GAUGE,
                                  .n_series = 1};

static struct metric m_hindered = {
    .name = "tain_links_upkeep_hindered_total",
    .help = "Steps of the upkeep of links that some row spoiled; the log names it.",
    .measure = "steps",
    .type = METRIC_COUNTER,
    .n_series = 1};
static struct metric m_spent = {
    .name = "tain_links_spent",
    .help = "What summaries have cost this month, as --summary-budget counts it, with what is set "
            "aside for calls under way.",
    .measure = "currency",
    .type = METRIC_GAUGE,
    .n_series = 1,
    .unit = 1e-6,
    .value = {METRIC_NONE}};
static struct metric m_budget = {.name = "tain_links_budget",
                                 .help = "--summary-budget; 0: there is no limit of ours.",
                                 .measure = "currency",
                                 .type = METRIC_GAUGE,
                                 .n_series = 1,
                                 .unit = 1e-6,
                                 .value = {METRIC_NONE}};
static struct metric m_closed = {
    .name = "tain_links_budget_closed",
    .help = "1 while summaries are skipped because the money of this month is spent.",
    .measure = "0 or 1",
    .type = METRIC_GAUGE,
    .n_series = 1,
    .value = {METRIC_NONE}};
static struct metric m_stories = {.name = "tain_links_stories_total",
                                  .help = "Stories of the archive that this process made links of.",
                                  .measure = "links",
                                  .type = METRIC_COUNTER,
                                  .n_series = 1};
static struct metric m_gaps = {
    .name = "tain_links_feed_gaps_total",
    .help = "Times that changes of items were missing from the feed, and the archive was read.",
    .measure = "gaps",
    .type = METRIC_COUNTER,
    .n_series = 1};
static struct metric m_rekey = {
    .name = "tain_links_items_to_rekey",
    .help = "Ids of the archive whose keys may be of older rules; 0: none is.",
    .measure = "ids",
    .type = METRIC_GAUGE,
    .n_series = 1};

struct metric *const link_metrics[] = {&m_done,    &m_raced,    &m_tasks, &m_oldest,
                                       &m_waiting, &m_hindered, &m_spent, &m_budget,
                                       &m_closed,  &m_stories,  &m_gaps,  &m_rekey};
const size_t link_n_metrics = ARRAY_LEN(link_metrics);

void enrich_link_done(enum link_task t, enum link_status s) {
    metric_add(&m_done, metric_series(&m_done, (int)t, (int)s - LINK_PENDING), 1);
}

void enrich_link_raced(void) {
    metric_add(&m_raced, 0, 1);
}

void enrich_link_hindered(void) {
    metric_add(&m_hindered, 0, 1);
}

void enrich_link_purse(int64_t spent, int64_t budget, bool closed) {
    metric_set(&m_spent, 0, spent);
    metric_set(&m_budget, 0, budget);
    metric_set(&m_closed, 0, closed);
}

void enrich_link_followed(const struct link_followed *f) {
    metric_add(&m_stories, 0, (int64_t)f->made);
    metric_add(&m_gaps, 0, f->gap);
}

void enrich_link_keys(const struct item_keys *k) {
    metric_set(&m_rekey, 0, k->done ? 0 : k->last - k->next);
}

void enrich_link_counts(const struct link_counts *c) {
    for (int t = 0; t < LINK_TASKS; t++) {
        for (int s = LINK_PENDING; s < LINK_STATUSES; s++)
            metric_set(&m_tasks, metric_series(&m_tasks, t, s - LINK_PENDING), c->tasks[t][s]);
        metric_set(&m_oldest, t, c->oldest_pending_ms[t]);
    }
    metric_set(&m_waiting, 0, c->waiting);
}
