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

/// Returns the action, the reasons for asking, and what the lasting answers cover. All of it is read
/// before an approval. A compact description has no empty lines between its parts.
pub(super) fn description(
    request: &ApprovalRequest,
    is_compact: bool,
    view: View<'_>,
) -> Vec<Line> {
    let parts =
        [action(request, view), change(request, view), why(request, view), far(request, view)];
    let mut lines = Vec::new();
    for part in parts {
        if !is_compact && !lines.is_empty() && !part.is_empty() {
            lines.push(Line::new());
        }
        lines.extend(part);
    }
    lines
}

fn action(request: &ApprovalRequest, view: View<'_>) -> Vec<Line> {
    let odd = view.theme.fg(Token::Warning);
    let mut lines = exact::lines(&request.what, view.theme.fg(Token::ToolOutput), odd, view);
    let cwd = exact::exact(&format!("in {}", request.cwd), view.theme.fg(Token::Dim), odd);
    lines.extend(text::wrap(&cwd, view.width));
    lines
}

/// Returns the difference that the action makes to a file.
fn change(request: &ApprovalRequest, view: View<'_>) -> Vec<Line> {
    let theme = view.theme;
    let line = |line: &str| {
        let token = match line.chars().next() {
            Some('-') => Token::ToolDiffRemoved,
            Some('+') => Token::ToolDiffAdded,
            _ => Token::ToolDiffContext,
        };
        text::wrap(&exact::exact(line, theme.fg(token), theme.fg(Token::Warning)), view.width)
    };
    request.change.iter().flat_map(|change| change.lines()).flat_map(line).collect()
}

/// Returns the reasons for asking.
fn why(request: &ApprovalRequest, view: View<'_>) -> Vec<Line> {
    let (odd, muted) = (view.theme.fg(Token::Warning), view.theme.fg(Token::Muted));
    let line = |reason: String| {
        let reason = exact::exact(&reason, muted, odd);
        let bullet = Line::styled("- ", muted);
        text::wrap_indented(&reason, view.width, &bullet, &Line::plain("  "))
    };
    reasons(request).into_iter().flat_map(line).collect()
}

/// Returns what the lasting answers cover.
fn far(request: &ApprovalRequest, view: View<'_>) -> Vec<Line> {
    let theme = view.theme;
    let mut lines = Vec::new();
    for (name, texts) in reach(request) {
        let mut first = Line::styled(format!("{name:<8} "), theme.fg(Token::Muted));
        for text in texts {
            let text = exact::exact(&text, theme.fg(Token::Dim), theme.fg(Token::Warning));
            let rest = Line::plain("         ");
            lines.extend(text::wrap_indented(&text, view.width, &first, &rest));
            first = rest;
        }
    }
    lines
}

/// Returns the reasons for asking. Parts of the action with the same reason share one; a part that is
/// all of the action is not repeated.
fn reasons(request: &ApprovalRequest) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for part in &request.parts {
        let rule = part.rule.as_ref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
        let reason = format!("{}{rule}", part.reason);
        let what = part.what.as_str();
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, parts)) if parts.contains(&what) => {}
            Some((_, parts)) => parts.push(what),
            None => reasons.push((reason, vec![what])),
        }
    }
    let text = |(reason, parts): (String, Vec<&str>)| match parts.as_slice() {
        [part] if *part == request.what => reason,
        parts => format!("{}: {reason}", parts.join(", ")),
    };
    reasons.into_iter().map(text).collect()
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

/// Returns the choices on one line, wrapped where that is too narrow. The selected one is in
/// brackets.
pub(super) fn choices_in_line(
    choices: &[Choice],
    selected: usize,
    is_read: bool,
    view: View<'_>,
) -> Vec<Line> {
    let theme = view.theme;
    let mut line = Line::new();
    let counting = |choice: &Choice| is_read || !choice.approves();
    for (at, choice) in choices.iter().enumerate().filter(|(_, choice)| counting(choice)) {
        if line.width() > 0 {
            line.push(" ", theme.fg(Token::Muted));
        }
        let (open, close, style) = match at == selected {
            true => ("[", "]", theme.fg(Token::Accent)),
            false => ("", "", theme.fg(Token::Text)),
        };
        line.push(open, style);
        line.push(choice.key().to_string(), theme.fg(Token::Accent));
        line.push(format!(":{}{close}", choice.word()), style);
    }
    text::wrap(&line, view.width)
}
