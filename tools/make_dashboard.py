#!/usr/bin/env python3
"""Makes the Grafana dashboard from the table below and from the alerts.

    tools/make_dashboard.py OUT [RULES]

A panel names the alerts that watch what it shows; their thresholds become its lines, and what they
say becomes its description, so that picture and alert cannot drift apart. In an expression SEL
stands for the chosen job and instance, RATE for the time that a rate is taken over.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import alert_rules  # noqa: E402

WIDTH, HEIGHT, STAT_HEIGHT = 24, 8, 4
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
SELECTOR = 'job=~"$job", instance=~"$instance"'
COLORS = {"page": "red", "ticket": "orange"}


def quantiles(metric):
    return [(f"histogram_quantile({q}, sum by (le) (rate({metric}_bucket{{SEL}}[RATE])))", name)
            for q, name in ((0.5, "half"), (0.95, "95 %"), (0.99, "99 %"))]


# (row, [(title, kind, unit, [(expression, legend)], [alert])])
ROWS = (
    ("Freshness", (
        ("Active updaters", "stat", "none",
         (('count(tain_updater_role{SEL, role="active"} == 1) or vector(0)', "active"),),
         ("TainNoActiveUpdater",)),
        ("All daemons answer", "stat", "bool_yes_no",
         (('min(up{SEL, job!~"tain-catchup.*"})', "up"),), ("TainTargetDown",)),
        ("Event stream", "stat", "bool_on_off",
         (("max(tain_realtime_listener_connected{SEL})", "connected"),), ("TainListenerDown",)),
        ("Dead letters", "stat", "none", (("max(tain_dead_letters{SEL})", "dead letters"),),
         ("TainDeadLetters",)),
        ("Last event", "timeseries", "s",
         (("tain_realtime_last_event_age_seconds{SEL}", "{{instance}}"),), ("TainStreamSilent",)),
        ("Behind the newest item", "timeseries", "short",
         (("tain_catchup_frontier_lag{SEL}", "{{instance}}"),), ("TainFrontierLag",)),
        ("Last finished rescan", "timeseries", "s",
         (("tain_rescan_last_run_age_seconds{SEL}", "{{instance}}"),), ("TainRescanOverdue",)),
        ("Age of items when they change", "timeseries", "s",
         quantiles("tain_realtime_update_age_seconds"), ()),
    )),
    ("Realtime", (
        ("Queue", "timeseries", "short", (("tain_realtime_queue_depth{SEL}", "{{instance}}"),),
         ("TainQueueDeep",)),
        ("Workers alive", "timeseries", "none",
         (("tain_realtime_worker_alive_count{SEL}", "{{instance}}"),), ("TainNoWorker",)),
        ("Reconnects within an hour", "timeseries", "none",
         (("round(increase(tain_realtime_reconnects_total{SEL}[1h]))", "{{instance}}"),),
         ("TainReconnects",)),
        ("Failed, waiting for another round", "timeseries", "none",
         (("tain_realtime_dlq_items{SEL}", "failed"),
          ("tain_null_recheck_backlog{SEL}", "rechecks of young nulls")),
         ("TainRealtimeDeadLetters",)),
        ("Items of the stream", "timeseries", "ops",
         (("sum(rate(tain_realtime_items_updated_total{SEL}[RATE]))", "written"),
          ("sum(rate(tain_realtime_items_changed_total{SEL}[RATE]))", "new or different")), ()),
        ("Frames", "timeseries", "ops",
         (("sum by (kind) (rate(tain_realtime_frames_total{SEL}[RATE]))", "{{kind}}"),), ()),
        ("What became of named ids", "timeseries", "ops",
         (("sum by (outcome) (rate(tain_realtime_outcomes_total{SEL}[RATE]))", "{{outcome}}"),),
         ()),
        ("Trouble", "timeseries", "ops",
         (("sum(rate(tain_realtime_queue_full_total{SEL}[RATE]))", "met a full queue"),
          ("sum(rate(tain_realtime_worker_restarts_total{SEL}[RATE]))", "worker restarts"),
          ("sum(rate(tain_realtime_polls_total{SEL}[RATE]))", "polls without a stream")), ()),
    )),
    ("Catch-up", (
        ("Frontier", "timeseries", "none",
         (("max(tain_catchup_frontier_id{SEL})", "frontier"),
          ("max(tain_catchup_frontier_excluding_waiting{SEL})", "stepping over what waits"),
          ("max(tain_upstream_maxitem{SEL})", "newest item")), ()),
        ("Progress", "timeseries", "percent",
         (("tain_catchup_progress_percent{SEL}", "{{instance}}"),), ()),
        ("Ids by outcome", "timeseries", "ops",
         (("sum by (outcome) (rate(tain_catchup_items_total{SEL}[RATE]))", "{{outcome}}"),), ()),
        ("Segments", "timeseries", "none",
         (('max by (status) (tain_catchup_segments{SEL, status!="done"})', "{{status}}"),), ()),
        ("Rescans", "timeseries", "ops",
         (("sum(rate(tain_rescan_items_processed_total{SEL}[RATE]))", "fetched again"),
          ("sum(rate(tain_rescan_items_changed_total{SEL}[RATE]))", "new or different")), ()),
        ("Dead letters and retries", "timeseries", "none",
         (("max(tain_catchup_dead_letters{SEL})", "dead letters"),
          ("sum(tain_catchup_waiting_items{SEL})", "waiting for another try")), ()),
    )),
    ("Upstream", (
        ("Requests by answer", "timeseries", "reqps",
         (("sum by (code) (rate(tain_http_requests_total{SEL}[RATE])) > 0", "{{code}}"),), ()),
        ("Requests by target", "timeseries", "reqps",
         (("sum by (target) (rate(tain_http_requests_total{SEL}[RATE]))", "{{target}}"),), ()),
        ("Time of a request", "timeseries", "s", quantiles("tain_http_request_duration_seconds"),
         ()),
        ("In flight", "timeseries", "none",
         (("sum(tain_http_inflight{SEL})", "in flight"),
          ("sum(tain_http_concurrency_limit{SEL})", "limit"),
          ("max(tain_upstream_ill{SEL})", "upstream is ill")), ()),
    )),
    ("Database", (
        ("Time of a transaction", "timeseries", "s",
         quantiles("tain_db_transaction_duration_seconds"), ()),
        ("Items in a batch", "timeseries", "none", quantiles("tain_db_batch_items"), ()),
        ("Items written", "timeseries", "ops",
         (("sum by (source, result) (rate(tain_db_items_total{SEL}[RATE]))",
           "{{source}} {{result}}"),), ()),
        ("Transactions that were repeated", "timeseries", "ops",
         (("sum(rate(tain_db_retries_total{SEL}[RATE]))", "repeated"),), ()),
    )),
    ("Change feed", (
        ("Oldest change without a position", "timeseries", "s",
         (("tain_feed_lag_seconds{SEL}", "{{instance}}"),), ("TainFeedBehind",)),
        ("No answer of the database, no move", "timeseries", "s",
         (("tain_feed_down_seconds{SEL}", "{{instance}} database"),
          ("tain_feed_silence_seconds{SEL}", "{{instance}} thread")), ("TainFeedDown",)),
        ("Doorbell", "timeseries", "none",
         (("tain_feed_listen_up{SEL}", "{{instance}}"),), ("TainFeedDeaf",)),
        ("Slow clients closed within 15 minutes", "timeseries", "none",
         (('round(increase(tain_feed_ws_closed_total{SEL, reason="slow"}[15m]))', "{{instance}}"),),
         ("TainFeedSlowClients",)),
        ("Waiting to be healed", "timeseries", "none",
         (("tain_feed_failures_waiting{SEL}", "{{instance}}"),), ("TainFeedFailures",)),
        ("Size of the log, in percent", "timeseries", "percent",
         (("100 * (tain_feed_head{SEL} - tain_feed_oldest{SEL}) / tain_feed_keep_rows{SEL}",
           "{{instance}}"),), ("TainFeedNotPruned",)),
        ("Clients", "timeseries", "none",
         (("sum(tain_feed_clients{SEL})", "all"), ("sum(tain_feed_ws_clients{SEL})", "WebSocket"),
          ("sum(rate(tain_feed_gaps_total{SEL}[RATE]))", "gaps per second")), ()),
        ("Events", "timeseries", "ops",
         (("sum(rate(tain_feed_published_total{SEL}[RATE]))", "numbered"),
          ("sum(rate(tain_feed_events_total{SEL}[RATE]))", "read"),
          ("sum(rate(tain_feed_sent_total{SEL}[RATE]))", "sent to clients"),
          ("sum(rate(tain_feed_pruned_total{SEL}[RATE]))", "pruned")), ()),
    )),
    ("Enrichment", (
        ("Workers", "timeseries", "none",
         (('sum by (job) (up{SEL, job=~"tain-enrich.*"})', "{{job}}"),), ("TainEnrichNobody",)),
        ("Lanes that are refused", "timeseries", "none",
         (('max by (job, lane) (tain_enrich_lane_state{SEL, state="refused"})', "{{lane}}"),),
         ("TainEnrichRefused",)),
        ("Lanes that are paused", "timeseries", "none",
         (('max by (job, lane) (tain_enrich_lane_state{SEL, state="paused"})', "{{lane}} paused"),),
         ("TainEnrichPaused",)),
        ("Providers that are ill", "timeseries", "none",
         (('max by (job, lane) (tain_enrich_lane_state{SEL, state="ill"})', "{{lane}}"),),
         ("TainEnrichIll",)),
        ("Rows that are due", "timeseries", "none",
         (("max by (job, source) (tain_enrich_due{SEL})", "{{source}}"),), ("TainEnrichStuck",)),
        ("Failed within the hour, in percent", "timeseries", "percent",
         (('100 * sum by (job, source) (increase(tain_enrich_finished_total{SEL, '
           'state="failed_no_retry"}[1h])) / sum by (job, source) '
           '(increase(tain_enrich_finished_total{SEL}[1h]))', "{{source}}"),),
         ("TainEnrichFailures",)),
        ("Swept within the hour", "timeseries", "none",
         (('round(sum by (job, source) (increase(tain_enrich_claims_total{SEL, result="swept"}'
           '[1h])))', "{{source}}"),), ("TainEnrichSwept",)),
        ("Calls", "timeseries", "ops",
         (("sum by (lane, result) (rate(tain_enrich_calls_total{SEL}[RATE]))",
           "{{lane}} {{result}}"),), ()),
        ("Time of a call", "timeseries", "s", quantiles("tain_enrich_call_seconds"), ()),
        ("Calls under way, and budget left", "timeseries", "none",
         (("sum by (lane) (tain_enrich_in_flight{SEL})", "{{lane}} under way"),
          ("max by (lane) (tain_enrich_budget_left{SEL})", "{{lane}} left")), ()),
        ("Rows", "timeseries", "none",
         (("max by (source, state) (tain_enrich_rows{SEL})", "{{source}} {{state}}"),), ()),
        ("Events of enrichment", "timeseries", "ops",
         (("sum by (source, result) (rate(tain_enrich_events_total{SEL}[RATE]))",
           "{{source}} {{result}}"),), ()),
    )),
    ("Links", (
        ("Oldest link without a first look", "timeseries", "s",
         (("max by (job, task) (tain_links_oldest_pending_seconds{SEL})", "{{task}}"),),
         ("TainLinksOld",)),
        ("Tasks of links that failed within the hour, in percent", "timeseries", "percent",
         (('100 * sum by (job, task) (increase(tain_links_tasks_done_total{SEL, '
           'status="failed"}[1h])) / sum by (job, task) '
           '(increase(tain_links_tasks_done_total{SEL}[1h]))', "{{task}}"),),
         ("TainLinksFailing",)),
        ("Money for summaries is spent", "timeseries", "none",
         (("max by (job) (tain_links_budget_closed{SEL})", "{{job}}"),),
         ("TainLinksBudgetSpent",)),
        ("Upkeep of links hindered within the hour", "timeseries", "none",
         (("round(sum by (job) (increase(tain_links_upkeep_hindered_total{SEL}[1h])))",
           "{{job}}"),), ("TainLinksUpkeep",)),
        ("Lanes whose provider asked for a wait", "timeseries", "none",
         (('max by (job, lane) (tain_enrich_lane_state{SEL, state="waits"})', "{{lane}}"),),
         ("TainEnrichWaits",)),
        ("Pending tasks of links, and links that somebody waits for", "timeseries", "none",
         (('max by (task) (tain_links_tasks{SEL, status="pending"})', "{{task}}"),
          ("max(tain_links_waiting{SEL})", "somebody waits")), ()),
        ("Tasks of links that ended", "timeseries", "ops",
         (("sum by (task, status) (rate(tain_links_tasks_done_total{SEL}[RATE]))",
           "{{task}} {{status}}"),
          ("sum(rate(tain_links_raced_total{SEL}[RATE]))", "taken from us")), ()),
        ("Tasks of links by status", "timeseries", "none",
         (("max by (task, status) (tain_links_tasks{SEL})", "{{task}} {{status}}"),), ()),
        ("Cost of summaries this month", "timeseries", "none",
         (("max(tain_links_spent{SEL})", "spent"), ("max(tain_links_budget{SEL})", "budget")), ()),
    )),
    ("Process", (
        ("Processor", "timeseries", "percentunit",
         (("rate(process_cpu_seconds_total{SEL}[RATE])", "{{job}} {{instance}}"),), ()),
        ("Memory", "timeseries", "bytes",
         (("process_resident_memory_bytes{SEL}", "{{job}} {{instance}}"),), ()),
        ("Open files", "timeseries", "none",
         (("process_open_fds{SEL}", "{{job}} {{instance}}"),), ()),
        ("Starts within 15 minutes", "timeseries", "none",
         (("changes(process_start_time_seconds{SEL}[15m])", "{{job}} {{instance}}"),),
         ("TainRestarting",)),
    )),
)


def filled(expr):
    return expr.replace("SEL", SELECTOR).replace("RATE", "$__rate_interval")


def steps(alerts, rules):
    """Colours from bottom to top: green is well. A figure that must not be 0 is red down there."""
    above, low = [], None
    for name in alerts:
        rule = rules[name]
        color = COLORS[rule["labels"]["severity"]]
        _, operator, number = alert_rules.threshold(rule) or ("", "==", 0.0)
        if operator == "==":  # all of these watch for a zero of something countable
            low = color
        else:
            above.append({"color": color, "value": number or 1})  # a step begins at its value
    found = [{"color": low or "green", "value": None}]
    if low:
        found.append({"color": "green", "value": 1})
    return found + sorted(above, key=lambda s: s["value"])


def described(alerts, rules):
    return "\n\n".join(f"{name} ({rules[name]['labels']['severity']} after {rules[name]['for']}): "
                       f"{rules[name]['annotations']['summary']}. "
                       f"Runbook: {rules[name]['annotations']['runbook_url']}" for name in alerts)


def panel(spec, rules, number, at):
    title, kind, unit, targets, alerts = spec
    defaults = {"unit": unit, "min": 0, "thresholds":
                {"mode": "absolute", "steps": steps(alerts, rules)}}
    options = {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
               "tooltip": {"mode": "multi", "sort": "desc"}}
    if kind == "stat":
        options = {"colorMode": "background", "graphMode": "area", "textMode": "auto",
                   "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}
    else:
        defaults["custom"] = {"lineWidth": 1, "fillOpacity": 10, "showPoints": "never",
                              "thresholdsStyle": {"mode": "line" if alerts else "off"}}
        defaults["color"] = {"mode": "palette-classic"}
    return {
        "id": number, "type": kind, "title": title, "description": described(alerts, rules),
        "datasource": DATASOURCE, "gridPos": at, "options": options,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "targets": [{"refId": chr(ord("A") + i), "datasource": DATASOURCE, "expr": filled(expr),
                     "legendFormat": legend, "range": True}
                    for i, (expr, legend) in enumerate(targets)],
    }


def panels(rules):
    """Rows of panels, four beside each other, or three where that fills a line."""
    found, y = [], 0
    for title, specs in ROWS:
        found.append({"id": len(found) + 1, "type": "row", "title": title, "collapsed": False,
                      "panels": [], "gridPos": {"h": 1, "w": WIDTH, "x": 0, "y": y}})
        y, x, height = y + 1, 0, 0
        for spec in specs:
            wide, high = 8 if len(specs) % 4 else 6, STAT_HEIGHT if spec[1] == "stat" else HEIGHT
            if x + wide > WIDTH or height not in (0, high):
                x, y = 0, y + height
            found.append(panel(spec, rules, len(found) + 1, {"h": high, "w": wide, "x": x, "y": y}))
            x, height = x + wide, high
        y += height
    return found


def variable(name, label, query):
    return {"name": name, "label": label, "type": "query", "datasource": DATASOURCE,
            "query": {"query": query, "refId": name}, "definition": query, "refresh": 2,
            "multi": True, "includeAll": True, "allValue": ".*", "sort": 1,
            "current": {"text": "All", "value": "$__all"}}


def dashboard(rules):
    return {
        "uid": "tain", "title": "tain", "tags": ["tain"], "schemaVersion": 37, "version": 1,
        "editable": True, "graphTooltip": 1, "refresh": "30s", "timezone": "browser",
        "time": {"from": "now-6h", "to": "now"}, "links": [],
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource",
             "query": "prometheus", "refresh": 1, "current": {}},
            variable("job", "Job", 'label_values(up{job=~"tain-.*"}, job)'),
            variable("instance", "Instance", 'label_values(up{job=~"$job"}, instance)'),
        ]},
        "annotations": {"list": [
            {"name": "Alerts", "enable": True, "datasource": DATASOURCE, "iconColor": "red",
             "expr": 'ALERTS{alertname=~"Tain.*", alertstate="firing"}', "step": "15s",
             "titleFormat": "{{alertname}}", "textFormat": "{{severity}} {{instance}}"}]},
        "panels": panels(rules),
    }


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__.split("\n\n")[1].strip(), file=sys.stderr)
        return 2
    text = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8") if len(sys.argv) > 2 else None
    page = json.dumps(dashboard(alert_rules.rules(text)), indent=2, ensure_ascii=False)
    pathlib.Path(sys.argv[1]).write_text(page + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
