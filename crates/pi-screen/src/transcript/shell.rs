//! Commands of the user (`!` and `!!`): the command and its output between two rules.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use pi_coding_agent::session::{BashError, BashResult};
use pi_session::BashExecution;
use pi_tui::BlockId;
use pi_tui::{Line, Token};

use super::layout::{expand_hint, padded, rule, text_lines};
use super::options::{Look, Shared};
use super::output::{counted, tail};
use super::page::Page;
use super::slot::{Draw, SharedSlot, Slot};

/// Lines of output in a collapsed box.
const LINES: usize = 20;
/// Bytes of output that are kept while a command runs.
const KEPT: usize = 64 * 1024;
/// The frames of the spinner, and the time of each.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const SPINNER_MS: u64 = 80;

/// A command of the user.
#[derive(Debug)]
pub(super) struct Shell {
    command: String,
    /// The model does not see the command.
    is_excluded: bool,
    output: String,
    end: Option<End>,
    started: Instant,
    /// Frame of the spinner.
    frame: usize,
}

/// The end of a command.
#[derive(Debug, Default)]
struct End {
    exit_code: Option<i64>,
    is_cancelled: bool,
    is_truncated: bool,
    full_output: Option<String>,
    error: Option<String>,
}

impl Shell {
    /// Creates a command that has just begun.
    pub(super) fn started(command: &str, is_excluded: bool, now: Instant) -> Self {
        Self {
            command: command.to_owned(),
            is_excluded,
            output: String::new(),
            end: None,
            started: now,
            frame: 0,
        }
    }

    /// Creates a command from the log.
    pub(super) fn stored(execution: BashExecution) -> Self {
        let mut shell = Self::started(
            &execution.command,
            execution.exclude_from_context == Some(true),
            Instant::now(),
        );
        shell.output = execution.output;
        shell.end = Some(End {
            exit_code: execution.exit_code,
            is_cancelled: execution.cancelled,
            is_truncated: execution.truncated,
            full_output: execution.full_output_path,
            error: None,
        });
        shell
    }

    /// Adds output. Only the end of a long output is kept: nothing else is shown before the end.
    fn push(&mut self, delta: &str) {
        self.output.push_str(delta);
        if self.output.len() > 2 * KEPT {
            let from = self.output.ceil_char_boundary(self.output.len() - KEPT);
            self.output.drain(..from);
        }
    }

    /// Ends the command with its result, or with the reason why it could not run.
    fn end(&mut self, result: &Result<BashResult, BashError>) {
        self.end = Some(match result {
            Ok(result) => {
                self.output.clone_from(&result.output);
                End {
                    exit_code: result.exit_code.map(i64::from),
                    is_cancelled: result.cancelled,
                    is_truncated: result.truncated,
                    full_output: result.full_output_path.clone(),
                    error: None,
                }
            }
            Err(error) => End { error: Some(error.to_string()), ..End::default() },
        });
    }

    /// Returns the time at which the spinner moves next.
    fn next_tick(&self, now: Instant) -> Instant {
        let elapsed = now.saturating_duration_since(self.started).as_millis() as u64;
        self.started + Duration::from_millis((elapsed / SPINNER_MS + 1) * SPINNER_MS)
    }

    /// Moves the spinner; returns true if it looks different.
    fn tick(&mut self, now: Instant) -> bool {
        let elapsed = now.saturating_duration_since(self.started).as_millis() as u64;
        let frame = (elapsed / SPINNER_MS) as usize % SPINNER.len();
        std::mem::replace(&mut self.frame, frame) != frame
    }

    /// Returns the lines.
    fn lines(&self, look: Look<'_>) -> Vec<Line> {
        let theme = look.view.theme;
        let color = theme.fg(if self.is_excluded { Token::Dim } else { Token::BashMode });
        let muted = theme.fg(Token::Muted);
        let edge = rule(color, look.view.width);
        let mut lines = vec![Line::new(), edge.clone()];
        let mut body = text_lines(&format!("$ {}", self.command.trim_end()), color.bold());
        let output = self.output.trim_matches('\n');
        let mut hidden = 0;
        if !output.trim().is_empty() {
            body.push(Line::new());
            let (rows, above) = tail(output, LINES, look.is_expanded(), muted, usize::MAX);
            hidden = above;
            body.extend(rows);
        }
        let mut remarks = Vec::new();
        if hidden > 0 {
            remarks.push(expand_hint(format!("... {} (", counted(hidden, "more")), look));
        }
        self.add_end(&mut remarks, look);
        if !remarks.is_empty() || !output.trim().is_empty() {
            body.push(Line::new());
        }
        body.extend(remarks);
        lines.extend(padded(body, look));
        lines.push(edge);
        lines
    }

    fn add_end(&self, remarks: &mut Vec<Line>, look: Look<'_>) {
        let theme = look.view.theme;
        let (warning, error) = (theme.fg(Token::Warning), theme.fg(Token::Error));
        let Some(end) = &self.end else {
            let mut line = Line::styled(
                SPINNER.get(self.frame).copied().unwrap_or_default(),
                theme.fg(Token::BashMode),
            );
            line.push(" Running... (escape to cancel)", theme.fg(Token::Muted));
            remarks.push(line);
            return;
        };
        if let Some(text) = &end.error {
            remarks.extend(text_lines(&format!("Error: {text}"), error));
        }
        if end.is_cancelled {
            remarks.push(Line::styled("(cancelled)", warning));
        } else if let Some(code) = end.exit_code.filter(|code| *code != 0) {
            remarks.push(Line::styled(format!("(exit {code})"), error));
        }
        if end.is_truncated {
            let file = end.full_output.as_deref();
            let text = match file {
                Some(path) => format!("[Output truncated. Full output: {path}]"),
                None => "[Output truncated]".to_owned(),
            };
            remarks.extend(text_lines(&text, warning));
        }
    }
}

impl Draw for Shell {
    fn draw(&self, look: Look<'_>, _shared: &Shared) -> Vec<Line> {
        self.lines(look)
    }
}

/// The commands that run, by id.
#[derive(Default)]
pub(super) struct Shells {
    running: HashMap<String, (BlockId, SharedSlot<Shell>)>,
    count: u64,
}

impl Shells {
    /// Adds a command. During a run it stays at the end: the log has it after the run.
    pub(super) fn start(&mut self, id: &str, shell: Shell, during_run: bool, page: &mut Page) {
        let slot = Slot::shared(page.shared(), shell);
        let block = if during_run {
            page.pin(Rc::clone(&slot))
        } else {
            page.draw_shared(Rc::clone(&slot))
        };
        self.running.insert(id.to_owned(), (block, slot));
    }

    pub(super) fn push(&mut self, id: &str, delta: &str, page: &mut Page) {
        if let Some((block, slot)) = self.running.get(id) {
            slot.borrow_mut().change().push(delta);
            page.touch(*block);
        }
    }

    pub(super) fn end(
        &mut self,
        id: &str,
        result: &Result<BashResult, BashError>,
        page: &mut Page,
    ) {
        if let Some((block, slot)) = self.running.remove(id) {
            slot.borrow_mut().change().end(result);
            page.touch(block);
        }
    }

    /// Adds the commands to a page that was built anew.
    pub(super) fn place(&mut self, page: &mut Page) {
        for (block, slot) in self.running.values_mut() {
            *block = page.draw_shared(Rc::clone(slot));
        }
    }

    /// Returns the number of the next command, for its id.
    pub(super) fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    pub(super) fn next_tick(&self, now: Instant) -> Option<Instant> {
        self.running.values().map(|(_, slot)| slot.borrow().content().next_tick(now)).min()
    }

    /// Moves the spinners. Returns true if one of them looks different.
    pub(super) fn tick(&mut self, now: Instant, page: &mut Page) -> bool {
        let mut is_changed = false;
        for (block, slot) in self.running.values() {
            if slot.borrow_mut().change().tick(now) {
                page.touch(*block);
                is_changed = true;
            }
        }
        is_changed
    }
}
