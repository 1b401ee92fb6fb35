//! The texts of an approval: title, description of the action, reach of a choice.
//!
//! Everything that a model or a project may have written goes through `exact`.

use pi_coding_agent::guard::ApprovalRequest;
use pi_guard::policy::Scope;
use pi_tui::{Line, Token, View, text};

use super::super::exact;
use super::Choice;

/// Returns the question.
pub(super) fn title(request: &ApprovalRequest, view: View<'_>) -> Vec<Line> {
    let accent = view.theme.fg(Token::Accent).bold();
    let odd = view.theme.fg(Token::Warning);
    let question = match &request.wider {
        None => format!("Allow {}?", request.tool),
        Some(wider) => format!("The sandbox denied part of this. Run it again {wider}?"),
    };
    text::wrap(&exact::exact(&question, accent, odd), view.width)
}

/// Returns the reasons for asking, the action, and what the lasting answers cover. All of it is read
/// before an approval.
pub(super) fn description(request: &ApprovalRequest, view: View<'_>) -> Vec<Line> {
    let theme = view.theme;
    let (odd, muted, dim) =
        (theme.fg(Token::Warning), theme.fg(Token::Muted), theme.fg(Token::Dim));
    let mut lines = Vec::new();
    let bullet = Line::styled("- ", muted);
    for reason in request.reasons() {
        let reason = exact::exact(&shortened(&reason, request), muted, odd);
        lines.extend(text::wrap_indented(&reason, view.width, &bullet, &Line::plain("  ")));
    }
    lines.push(Line::new());
    lines.extend(exact::lines(&request.what, theme.fg(Token::ToolOutput), odd, view));
    let cwd = exact::exact(&format!("in {}", request.cwd), dim, odd);
    lines.extend(text::wrap(&cwd, view.width));
    if let Some(change) = &request.change {
        lines.push(Line::new());
        for line in change.lines() {
            let token = match line.chars().next() {
                Some('-') => Token::ToolDiffRemoved,
                Some('+') => Token::ToolDiffAdded,
                _ => Token::ToolDiffContext,
            };
            lines.extend(text::wrap(&exact::exact(line, theme.fg(token), odd), view.width));
        }
    }
    let reach = reach(request);
    if !reach.is_empty() {
        lines.push(Line::new());
    }
    for (name, texts) in reach {
        let mut first = Line::styled(format!("{name:<8} "), muted);
        for text in texts {
            let text = exact::exact(&text, dim, odd);
            let rest = Line::plain("         ");
            lines.extend(text::wrap_indented(&text, view.width, &first, &rest));
            first = rest;
        }
    }
    lines
}

/// Returns a reason without the action, if that is all of the request and stands below anyway.
fn shortened(reason: &str, request: &ApprovalRequest) -> String {
    let rest = reason.strip_prefix(request.what.as_str()).and_then(|rest| rest.strip_prefix(": "));
    rest.unwrap_or(reason).to_owned()
}

/// Returns what the lasting answers cover: the scopes of a session, the rule that is added.
fn reach(request: &ApprovalRequest) -> Vec<(&'static str, Vec<String>)> {
    let mut reach = Vec::new();
    if !request.remembered.is_empty() {
        reach.push(("session:", request.remembered.iter().map(Scope::describe).collect()));
    }
    if let Some(rule) = &request.rule {
        let intro = "adds to your rules".to_owned();
        let rule = rule.trim_end().lines().map(str::to_owned);
        reach.push(("always:", std::iter::once(intro).chain(rule).collect()));
    }
    reach
}

/// Returns the choices, a row each. `is_read` is false as long as no approval counts.
pub(super) fn choices(
    choices: &[Choice],
    selected: usize,
    is_read: bool,
    view: View<'_>,
) -> Vec<Line> {
    let theme = view.theme;
    let row = |(at, choice): (usize, &Choice)| {
        let is_selected = at == selected;
        let style = match () {
            () if choice.approves() && !is_read => theme.fg(Token::Dim),
            () if is_selected => theme.fg(Token::Accent),
            () => theme.fg(Token::Text),
        };
        let mut line = Line::styled(if is_selected { "→ " } else { "  " }, style);
        line.push(format!("{} {}  ", at + 1, choice.key()), theme.fg(Token::Dim));
        line.push(choice.label(), style);
        text::truncate(&line, view.width, "…")
    };
    choices.iter().enumerate().map(row).collect()
}

/// Returns the choices on one line, wrapped where that is too narrow.
pub(super) fn choices_in_line(choices: &[Choice], is_read: bool, view: View<'_>) -> Vec<Line> {
    let theme = view.theme;
    let mut line = Line::new();
    for choice in choices.iter().filter(|choice| is_read || !choice.approves()) {
        if line.width() > 0 {
            line.push(" ", theme.fg(Token::Muted));
        }
        line.push(choice.key().to_string(), theme.fg(Token::Accent));
        line.push(format!(":{}", choice.word()), theme.fg(Token::Text));
    }
    text::wrap(&line, view.width)
}
