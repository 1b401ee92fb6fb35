//! Logins on a terminal: questions on stderr, answers from stdin, pages in the browser.

use std::io::{self, Write as _};
use std::sync::{Arc, OnceLock};

use pi_ai::HookFuture;
use pi_host::browser;
use pi_web::oauth::{Cancelled, Interaction, LoginEvent, Prompt, PromptKind};

use super::hidden;
use crate::input_lines::Lines;
use crate::plain::PlainWriter;

/// The user at a terminal.
pub(crate) struct TerminalInteraction {
    /// The program that opens pages; `None` if no browser is opened.
    pub(crate) browser: Option<String>,
    /// Answers can be typed.
    pub(crate) has_input: bool,
    /// Started with the first visible question: lines are read ahead.
    lines: Arc<OnceLock<Lines>>,
}

impl TerminalInteraction {
    pub(crate) fn new(browser: Option<String>, has_input: bool) -> Self {
        Self { browser, has_input, lines: Arc::default() }
    }

    fn open(&self, url: &str) {
        if let Some(program) = &self.browser
            && !browser::open(program, url)
        {
            say(&format!("{program} could not be started; open the page yourself."));
        }
    }
}

/// Writes a line to stderr, without control characters.
fn say(text: &str) {
    // A failure to write to stderr cannot be reported anywhere.
    let _ = writeln!(PlainWriter::new(io::stderr()), "{text}");
}

impl Interaction for TerminalInteraction {
    fn show(&self, event: LoginEvent) {
        match event {
            LoginEvent::Info(text) | LoginEvent::Progress(text) => say(&text),
            LoginEvent::AuthorizeUrl(url) => {
                say(&format!("Sign in on this page:\n\n  {url}\n"));
                self.open(&url);
            }
            LoginEvent::DeviceCode { user_code, verification_url, complete_url, expires_in } => {
                let minutes = expires_in.as_secs().div_ceil(60);
                say(&format!(
                    "Open {verification_url} on any device and enter the code\n\n  {user_code}\n\n\
                     It is valid for {minutes} minutes."
                ));
                self.open(complete_url.as_deref().unwrap_or(&verification_url));
            }
            _ => {}
        }
    }

    fn ask(&self, prompt: Prompt) -> HookFuture<Result<String, Cancelled>> {
        let (lines, has_input) = (Arc::clone(&self.lines), self.has_input);
        Box::pin(async move {
            if !has_input {
                // The browser may still come back, so the login is not ended.
                return std::future::pending().await;
            }
            match prompt.kind {
                PromptKind::Secret if lines.get().is_none() => {
                    let question = format!("{} (not shown): ", prompt.message);
                    let read = tokio::task::spawn_blocking(move || hidden::read_line(&question));
                    read.await.ok().and_then(Result::ok).flatten().ok_or(Cancelled)
                }
                PromptKind::Secret => {
                    let _hidden = hidden::without_echo();
                    let line = answer(&lines, &format!("{} (not shown): ", prompt.message)).await;
                    say("");
                    line
                }
                PromptKind::Select { choices } => select(&lines, &prompt.message, &choices).await,
                PromptKind::Text { default: Some(default) } => {
                    let line = answer(&lines, &format!("{} [{default}]: ", prompt.message)).await?;
                    Ok(if line.trim().is_empty() { default } else { line })
                }
                _ => answer(&lines, &format!("{}: ", prompt.message)).await,
            }
        })
    }
}

/// Asks for one of several values by its number.
async fn select(
    lines: &OnceLock<Lines>,
    message: &str,
    choices: &[(String, String)],
) -> Result<String, Cancelled> {
    say(&format!("{message}:"));
    for (number, (_, label)) in choices.iter().enumerate() {
        say(&format!("  {}. {label}", number + 1));
    }
    loop {
        let line = answer(lines, &format!("Number (1 to {}): ", choices.len())).await?;
        let line = line.trim();
        let by_number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let chosen = by_number.and_then(|at| choices.get(at));
        let chosen = chosen.or_else(|| choices.iter().find(|(value, _)| value == line));
        if let Some((value, _)) = chosen {
            return Ok(value.clone());
        }
    }
}

/// Shows a question and reads a line. The end of the input cancels.
async fn answer(lines: &OnceLock<Lines>, question: &str) -> Result<String, Cancelled> {
    let lines = match lines.get() {
        Some(lines) => lines.clone(),
        None => {
            let started = Lines::start().map_err(|_| Cancelled)?;
            lines.get_or_init(|| started).clone()
        }
    };
    let mut stderr = PlainWriter::new(io::stderr());
    let _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
    lines.next().await.ok_or(Cancelled)
}
