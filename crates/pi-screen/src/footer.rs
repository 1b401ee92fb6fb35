//! The footer: directory, branch and name of the session; tokens, cost, context and model.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_ai::{ThinkingLevel, Usage};
use pi_coding_agent::session::AgentSession;
use pi_config::settings::Profile;
use pi_tools::BackgroundProcesses;
use pi_tui::{Line, Style, Token, View, text};

/// Tokens and cost of a session, over all branches.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) cost: f64,
}

impl Totals {
    /// Adds the usage of one answer.
    pub(super) fn add(&mut self, usage: &Usage) {
        self.input += usage.input;
        self.output += usage.output;
        self.cache_read += usage.cache_read;
        self.cache_write += usage.cache_write;
        self.cost += usage.cost.total;
    }
}

/// What the footer shows. It is computed when something changes, not per frame.
#[derive(Debug, Clone, Default)]
pub(super) struct Footer {
    pub(super) cwd: PathBuf,
    pub(super) home: Option<PathBuf>,
    pub(super) branch: Option<String>,
    pub(super) name: Option<String>,
    /// The safety profile, if the guard restricts something.
    pub(super) profile: Option<Profile>,
    pub(super) totals: Totals,
    /// The totals of the log are not known yet. They are counted after the first frame.
    pub(super) is_uncounted: bool,
    /// Cache hits of the last answer, in percent.
    pub(super) cache_hit: Option<f64>,
    pub(super) is_subscription: bool,
    /// Percentage of the context in use; unknown after a compaction.
    pub(super) context_percent: Option<f64>,
    pub(super) context_window: u64,
    pub(super) auto_compact: bool,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    /// Model and level to which a virtual model routed the last request.
    pub(super) routed: Option<(String, ThinkingLevel)>,
    /// Level of a model that can think.
    pub(super) thinking: Option<ThinkingLevel>,
    /// Number of providers whose models can be used; several are named.
    pub(super) providers: usize,
    /// Background processes of the session, if it can have any.
    pub(super) background: Option<Arc<BackgroundProcesses>>,
    /// Texts that extensions set, by key.
    pub(super) statuses: std::collections::BTreeMap<String, String>,
}

impl Footer {
    /// Reads model, level, name and context from the session.
    pub(super) fn refresh(&mut self, session: &AgentSession) {
        let model = session.model();
        self.name = session.name();
        self.cwd = session.workspace().cwd().to_owned();
        self.background = session.workspace().background().cloned();
        self.provider = model.as_ref().map(|model| model.provider.clone());
        self.model = model.as_ref().map(|model| model.id.clone());
        self.thinking =
            model.as_ref().filter(|model| model.reasoning).map(|_| session.thinking_level());
        let routed = session.routed_model();
        self.routed = routed.as_ref().map(|(model, level)| (model.id.clone(), *level));
        let window = model.as_ref().map_or(0, |model| model.context_window);
        self.context_window = routed.map_or(window, |(model, _)| model.context_window);
        // A log that cannot be read is reported where it is used.
        let usage = session.context_usage().ok().flatten();
        self.context_percent = match usage {
            Some(usage) => usage.percent,
            None => Some(0.0),
        };
        self.auto_compact = session.settings().compaction.enabled;
    }

    /// Counts the providers whose models can be used.
    pub(super) fn count_providers(&mut self, session: &AgentSession) {
        let models = session.available_models();
        let names: BTreeSet<&str> = models.iter().map(|model| &*model.provider).collect();
        self.providers = names.len();
    }

    /// Returns the lines.
    pub(super) fn render(&self, view: View<'_>) -> Vec<Line> {
        let mut lines = vec![self.place(view), self.figures(view)];
        if !self.statuses.is_empty() {
            let mut line = Line::new();
            for status in self.statuses.values() {
                if line.width() > 0 {
                    line.push(" ", Style::PLAIN);
                }
                // In the colors of the extension; several lines become one.
                for part in text::from_ansi(&status.replace(['\n', '\r', '\t'], " ")) {
                    line.append(&part);
                }
            }
            lines.push(text::truncate(&line, view.width, "..."));
        }
        lines
    }

    /// Returns the first line: the directory, and the profile if it is not the one without limits.
    fn place(&self, view: View<'_>) -> Line {
        let dim = view.theme.fg(Token::Dim);
        let Some(profile) = self.profile.filter(|profile| *profile != Profile::Explore) else {
            return self.directory(view.width, dim);
        };
        let right = Line::styled(format!("profile {}", profile.as_str()), dim);
        let right = text::truncate(&right, view.width / 2, "…");
        let mut line = self.directory(view.width.saturating_sub(right.width() + 2), dim);
        line.pad_to(view.width.saturating_sub(right.width()), dim);
        line.append(&right);
        line
    }

    fn directory(&self, width: usize, dim: Style) -> Line {
        let mut place = short_path(&self.cwd, self.home.as_deref());
        if let Some(branch) = &self.branch {
            place.push_str(&format!(" ({branch})"));
        }
        if let Some(name) = &self.name {
            place.push_str(&format!(" • {}", text::plain(name)));
        }
        match self.background.as_ref().map_or(0, |processes| processes.running()) {
            0 => {}
            1 => place.push_str(" • 1 process"),
            count => place.push_str(&format!(" • {count} processes")),
        }
        text::truncate(&Line::styled(place, dim), width, "...")
    }

    fn figures(&self, view: View<'_>) -> Line {
        let dim = view.theme.fg(Token::Dim);
        let mut left = Line::styled(self.usage(), dim);
        let context = match self.context_percent {
            Some(percent) => format!("{percent:.1}%/{}", short_number(self.context_window)),
            None => format!("?/{}", short_number(self.context_window)),
        };
        let auto = if self.auto_compact { " (auto)" } else { "" };
        let style = match self.context_percent {
            Some(percent) if percent > 90.0 => view.theme.fg(Token::Error),
            Some(percent) if percent > 70.0 => view.theme.fg(Token::Warning),
            _ => dim,
        };
        left.push(format!("{context}{auto}"), style);
        let left = text::truncate(&left, view.width, "...");
        let room = view.width.saturating_sub(left.width() + 2);
        let right = self.model_text(room);
        let right = text::truncate(&Line::styled(right, dim), room, "");
        let mut line = left;
        let gap = view.width.saturating_sub(line.width() + right.width());
        line.push(" ".repeat(gap), dim);
        line.append(&right);
        line
    }

    fn usage(&self) -> String {
        let Totals { input, output, cache_read, cache_write, cost } = self.totals;
        let mut parts = Vec::new();
        let counts = [("↑", input), ("↓", output), ("R", cache_read), ("W", cache_write)];
        for (label, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            parts.push(format!("{label}{}", short_number(count)));
        }
        if let Some(hit) = self.cache_hit.filter(|_| cache_read + cache_write > 0) {
            parts.push(format!("CH{hit:.1}%"));
        }
        if cost > 0.0 || self.is_subscription {
            let note = if self.is_subscription { " (sub)" } else { "" };
            parts.push(format!("${cost:.3}{note}"));
        }
        let mut text = parts.join(" ");
        if !text.is_empty() {
            text.push(' ');
        }
        text
    }

    /// Returns the model, with its provider if there are several and `room` columns are enough.
    fn model_text(&self, room: usize) -> String {
        let model = self.model.as_deref().map_or_else(|| "unknown".to_owned(), text::plain);
        let level = match self.thinking {
            None => String::new(),
            Some(ThinkingLevel::Off) => " • thinking off".to_owned(),
            Some(level) => format!(" • {}", level.as_str()),
        };
        let routed = self.routed.as_ref();
        let routed = routed.map(|(id, level)| format!(" → {} • {level}", text::plain(id)));
        let short = format!("{model}{level}{}", routed.unwrap_or_default());
        match &self.provider {
            Some(provider) if self.providers > 1 => {
                let long = format!("({}) {short}", text::plain(provider));
                if text::width(&long) <= room { long } else { short }
            }
            _ => short,
        }
    }
}

/// Returns a path with `~` for the home directory.
pub(super) fn short_path(path: &Path, home: Option<&Path>) -> String {
    let shortened = home.filter(|home| home.parent().is_some()).and_then(|home| {
        let rest = path.strip_prefix(home).ok()?;
        Some(match rest.as_os_str().is_empty() {
            true => "~".to_owned(),
            false => format!("~/{}", rest.display()),
        })
    });
    text::plain(&shortened.unwrap_or_else(|| path.display().to_string()))
}

/// Returns a count in few characters: `999`, `1.2k`, `12k`, `1.2M`, `12M`.
pub(super) fn short_number(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{:.1}k", count as f64 / 1e3),
        10_000..1_000_000 => format!("{}k", (count as f64 / 1e3).round()),
        1_000_000..10_000_000 => format!("{:.1}M", count as f64 / 1e6),
        _ => format!("{}M", (count as f64 / 1e6).round()),
    }
}
