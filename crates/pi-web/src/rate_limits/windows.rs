//! Windows of subscriptions, which are reported as a used share and not as an amount.
//!
//! ChatGPT: `x-codex-primary-used-percent`, `-window-minutes`, `-reset-at` or
//! `-reset-after-seconds`, and the same for `secondary` and for named limits. Claude:
//! `anthropic-ratelimit-unified-5h-utilization`, `-reset`. GitHub Copilot: one header per quota,
//! `x-quota-snapshot-NAME: ent=300&rem=98.5&rst=DATE`.

use std::time::Duration;

use pi_protocol::UsageWindow;

use super::{millis, time};

/// The windows so far, in the order of their first header.
#[derive(Debug, Default)]
pub(super) struct Windows(Vec<Window>);

#[derive(Debug, Default)]
struct Window {
    name: String,
    used: Option<f64>,
    minutes: Option<u64>,
    reset: Option<Duration>,
}

impl Windows {
    /// Reads a header. Returns true if it belongs to a window.
    pub(super) fn read(&mut self, name: &str, text: &str, now: Duration) -> bool {
        if let Some(rest) = name.strip_prefix("x-codex-") {
            self.chatgpt(rest, text, now);
        } else if let Some(rest) = name.strip_prefix("anthropic-ratelimit-unified-") {
            self.claude(rest, text, now);
        } else if let Some(rest) = name
            .strip_prefix("x-quota-snapshot-")
            .or_else(|| name.strip_prefix("x-usage-ratelimit-"))
        {
            self.copilot(rest, text);
        } else {
            return false;
        }
        true
    }

    /// Returns the windows whose used share is known.
    pub(super) fn into_list(self) -> Vec<UsageWindow> {
        let known = self.0.into_iter().filter_map(|window| {
            let mut known = UsageWindow::default();
            // The cast saturates, as intended here.
            known.used_percent = window.used?.round() as u32;
            known.name = window.name;
            known.minutes = window.minutes;
            known.reset = window.reset.map(millis);
            Some(known)
        });
        known.collect()
    }

    fn chatgpt(&mut self, rest: &str, text: &str, now: Duration) {
        if let Some(name) = rest.strip_suffix("-used-percent") {
            self.window(name).used = share(text);
        } else if let Some(name) = rest.strip_suffix("-window-minutes") {
            self.window(name).minutes = super::amount(text).filter(|minutes| *minutes > 0);
        } else if let Some(name) = rest.strip_suffix("-reset-at") {
            self.window(name).reset = time::read(text, now);
        } else if let Some(name) = rest.strip_suffix("-reset-after-seconds") {
            let after = time::seconds(text).and_then(|wait| now.checked_add(wait));
            let window = self.window(name);
            window.reset = window.reset.or(after);
        }
    }

    fn claude(&mut self, rest: &str, text: &str, now: Duration) {
        if let Some(name) = rest.strip_suffix("-utilization") {
            let minutes = claude_minutes(name);
            let window = self.window(name);
            window.used = share(text).map(|share| share * 100.0);
            window.minutes = minutes;
        } else if let Some(name) = rest.strip_suffix("-reset") {
            self.window(name).reset = time::read(text, now);
        }
    }

    fn copilot(&mut self, name: &str, text: &str) {
        let field = |key: &str| {
            text.split('&').filter_map(|part| part.split_once('=')).find(|(name, _)| *name == key)
        };
        let number = |key: &str| field(key)?.1.parse::<f64>().ok();
        // Without a limit there is nothing to use up.
        if number("ent").is_some_and(|entitlement| entitlement < 0.0) {
            return;
        }
        let Some(left) = number("rem").filter(|left| (0.0..=100.0).contains(left)) else { return };
        let date = field("rst").map(|(_, date)| date.replace("%3A", ":").replace("%3a", ":"));
        let window = self.window(name);
        window.used = Some(100.0 - left);
        window.reset = date.and_then(|date| time::date(&date));
    }

    fn window(&mut self, name: &str) -> &mut Window {
        let position = self.0.iter().position(|window| window.name == name);
        let position = position.unwrap_or_else(|| {
            self.0.push(Window { name: name.to_owned(), ..Window::default() });
            self.0.len() - 1
        });
        &mut self.0[position]
    }
}

fn share(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|share| share.is_finite() && *share >= 0.0)
}

/// Returns the length of a window from its name: `5h`, `7d`, `7d_opus`.
fn claude_minutes(name: &str) -> Option<u64> {
    let name = name.split('_').next().unwrap_or(name);
    let hours = name.strip_suffix('h').and_then(|number| number.parse::<u64>().ok());
    let days = || name.strip_suffix('d').and_then(|number| number.parse::<u64>().ok());
    match hours {
        Some(hours) => hours.checked_mul(60),
        None => days()?.checked_mul(24 * 60),
    }
}
