//! The texts of an approval: title, description of the action, reach of a choice.
//!
//! Everything that a model or a project may have written goes through `exact`.

use pi_coding_agent::guard::ApprovalRequest;
use pi_guard::policy::Scope;
use pi_tui::{Line, Style, Token, View, text};

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

/// Returns the action and the reasons for asking.
pub(super) fn description(request: &ApprovalRequest, view: View<'_>) -> Vec<Line> {
    let theme = view.theme;
    let (odd, muted) = (theme.fg(Token::Warning), theme.fg(Token::Muted));
    let mut lines = exact::lines(&request.what, theme.fg(Token::ToolOutput), odd, view);
    let cwd = exact::exact(&format!("in {}", request.cwd), theme.fg(Token::Dim), odd);
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
    lines.push(Line::new());
    let bullet = Line::styled("- ", muted);
    for reason in request.reasons() {
        let reason = exact::exact(&reason, muted, odd);
        lines.extend(text::wrap_indented(&reason, view.width, &bullet, &Line::plain("  ")));
    }
    lines
}

/// Returns what a choice covers: the scopes of a session, the rule that is added.
pub(super) fn reach(choice: Choice, request: &ApprovalRequest, view: View<'_>) -> Vec<Line> {
    let (dim, odd) = (view.theme.fg(Token::Dim), view.theme.fg(Token::Warning));
    let texts: Vec<String> = match choice {
        Choice::Once => vec!["Only this call".to_owned()],
        Choice::Session => request.remembered.iter().map(Scope::describe).collect(),
        Choice::Always => {
            let rule = request.rule.as_deref().unwrap_or_default();
            let intro = "Adds to your rules:".to_owned();
            std::iter::once(intro).chain(rule.trim_end().lines().map(str::to_owned)).collect()
        }
        Choice::No => vec!["The model is told that you denied it".to_owned()],
        Choice::NoWithReason => vec!["The model is told your reason".to_owned()],
    };
    let indent = Line::styled("    ", Style::PLAIN);
    let lines = texts.iter().map(|text| exact::exact(text, dim, odd));
    lines.flat_map(|line| text::wrap_indented(&line, view.width, &indent, &indent)).collect()
}
