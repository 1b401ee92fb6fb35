//! `/session`: figures of the session.

use pi_base::text::grouped;
use pi_coding_agent::session::SessionTotals;
use pi_host::rate_limits::{self, LimitLine};
use pi_session::CacheTotals;

use crate::app::App;
use crate::report::{Item, Report};

pub(super) fn run(app: &mut App, _argument: &str) {
    let (session, name) = (app.session.clone(), app.session.name());
    // Reads the whole log.
    app.tasks.spawn_blocking(
        move || session.totals(),
        |app, totals| match totals {
            Ok(totals) => {
                app.transcript.push(Box::new(Report::new(items(&totals, name))));
            }
            Err(error) => app.error(error.to_string()),
        },
    );
}

/// Returns the use of the prompt cache, if a provider reported one.
fn cache_items(cache: &CacheTotals) -> Vec<Item> {
    if cache.is_empty() {
        return Vec::new();
    }
    let hits = format!("{} of {} prompts", grouped(cache.hits), grouped(cache.requests));
    let mut items = vec![Item::pair("Cache hits", hits)];
    if cache.misses > 0 {
        let reasons = cache.reasons.iter().map(|(reason, count)| format!("{count} {reason}"));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        let tokens = grouped(cache.missed_tokens);
        let text = format!("{reasons}: {tokens} tokens, ${:.3}", cache.missed_cost);
        items.push(Item::pair("Cache misses", text));
    }
    items
}

fn items(totals: &SessionTotals, name: Option<String>) -> Vec<Item> {
    let stats = &totals.stats;
    let tokens = &stats.tokens;
    let mut items = vec![Item::Heading("Session Info".to_owned()), Item::Gap];
    items.extend(name.map(|name| Item::pair("Name", name)));
    let file = totals.session_file.as_ref().map(|file| file.display().to_string());
    items.push(Item::pair("File", file.unwrap_or_else(|| "not saved yet".to_owned())));
    items.push(Item::pair("ID", totals.session_id.as_str()));
    items.extend([
        Item::Gap,
        Item::Heading("Messages".to_owned()),
        Item::pair("Total", stats.total_messages.to_string()),
        Item::pair("User", stats.user_messages.to_string()),
        Item::pair("Assistant", stats.assistant_messages.to_string()),
        Item::pair("Tools", format!("{} calls, {} results", stats.tool_calls, stats.tool_results)),
        Item::Gap,
        Item::Heading("Tokens".to_owned()),
    ]);
    let uncached = tokens.input + tokens.cache_write;
    let input = uncached + tokens.cache_read;
    let share = if input == 0 { 0.0 } else { tokens.cache_read as f64 * 100.0 / input as f64 };
    items.extend([
        Item::pair("Input", grouped(input)),
        Item::pair("  Cached", format!("{} ({share:.1}%)", grouped(tokens.cache_read))),
        Item::pair("  Uncached", grouped(uncached)),
        Item::pair("Output", grouped(tokens.output)),
        Item::pair("Total", grouped(tokens.total)),
    ]);
    items.extend(cache_items(&stats.prompt_cache));
    if let Some(usage) = &totals.context_usage {
        let window = grouped(usage.context_window);
        let text = match (usage.tokens, usage.percent) {
            (Some(tokens), Some(percent)) => {
                format!("{} of {window} ({percent:.1}%)", grouped(tokens))
            }
            _ => format!("unknown of {window}"),
        };
        items.push(Item::pair("Context", text));
    }
    items.extend([
        Item::Gap,
        Item::Heading("Cost".to_owned()),
        Item::pair("Total", format!("${:.3}", stats.cost)),
    ]);
    items.extend(limits(totals));
    items
}

/// Returns the limits that providers reported last.
fn limits(totals: &SessionTotals) -> Vec<Item> {
    let now = pi_protocol::now_ms();
    let mut items = Vec::new();
    for (credential, reported) in &totals.rate_limits {
        let lines = rate_limits::describe(reported, now);
        if lines.is_empty() {
            continue;
        }
        items.extend([Item::Gap, Item::Heading(format!("Limits of {credential}"))]);
        for LimitLine { name, text } in lines {
            let name: String = name
                .chars()
                .take(1)
                .flat_map(char::to_uppercase)
                .chain(name.chars().skip(1))
                .collect();
            items.push(Item::pair(name, text));
        }
    }
    items
}
