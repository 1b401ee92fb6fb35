//! The prompts of a run: piped input, files and messages.

use std::io::{IsTerminal as _, Read as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use pi_ai::ImageContent;
use pi_base::text::without_mark;
use pi_coding_agent::session::AgentSession;
use pi_tools::{Attachment, attach};

use crate::arguments::Arguments;
use crate::exit::note;

/// Maximum size of piped input. No model reads more, and a prompt is in memory several times.
const MAX_INPUT: u64 = 32 * 1024 * 1024;

/// The part of the input in which a zero byte shows that it is binary.
const BINARY_START: usize = 8 * 1024;

/// Time after which the reading of piped input is mentioned.
const INPUT_DELAY: Duration = Duration::from_secs(1);

/// A prompt with its images.
#[derive(Debug, Default)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) images: Vec<ImageContent>,
}

/// Returns the prompts in order. The first includes the piped input and the files. Secrets in files
/// are redacted as in tool results; what the user typed stays.
pub(crate) async fn prompts(
    arguments: &Arguments,
    session: &AgentSession,
) -> Result<Vec<Prompt>, String> {
    let messages = arguments.messages_with(&session.extensions().registry().flags());
    let mut messages = messages.iter();
    let mut first = Prompt::default();
    let mut parts = Vec::new();
    if !arguments.no_stdin
        && let Some(piped) = piped()?
    {
        parts.push(piped);
    }
    let mut files = String::new();
    for name in &arguments.files {
        let attached =
            attach(session.workspace(), name).await.map_err(|error| error.to_string())?;
        if let Some(warning) = &attached.warning {
            note(warning);
        }
        let path = attached.path.display();
        match attached.content {
            Attachment::Text(text) => {
                files.push_str(&format!(
                    "<file name=\"{path}\">\n{}\n</file>\n",
                    session.redacted(&text)
                ));
            }
            Attachment::Note(text) => {
                files.push_str(&format!("<file name=\"{path}\">{text}</file>\n"));
            }
            Attachment::Image { image, notes } => {
                first.images.extend(image);
                files.push_str(&format!("<file name=\"{path}\">{}</file>\n", notes.join("\n")));
            }
        }
    }
    let message = messages.next().map(String::as_str).unwrap_or_default();
    if !files.is_empty() || !message.is_empty() {
        parts.push(format!("{files}{message}"));
    }
    first.text = parts.join("\n\n");
    let has_first = !first.text.is_empty() || !first.images.is_empty();
    let rest = messages.map(|text| Prompt { text: text.clone(), images: Vec::new() });
    Ok(has_first.then_some(first).into_iter().chain(rest).collect())
}

/// Reads the piped input without the space around it; `None` if there is none.
fn piped() -> Result<Option<String>, String> {
    Ok(piped_text()?.map(|text| text.trim().to_owned()))
}

/// Reads the piped input; `None` if there is none.
pub(super) fn piped_text() -> Result<Option<String>, String> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let _mention = mention_delay();
    let read = stdin.lock().take(MAX_INPUT + 1).read_to_end(&mut bytes);
    match read {
        Ok(_) => {}
        // EBADF: stdin was closed before the program started.
        Err(error) if error.raw_os_error() == Some(9) => return Ok(None),
        Err(error) => return Err(format!("cannot read the input: {error}")),
    }
    if bytes.len() as u64 > MAX_INPUT {
        return Err(format!(
            "the input is larger than {} MB, which no model can read; pass the name of a file instead",
            MAX_INPUT / (1024 * 1024)
        ));
    }
    let is_binary = bytes.iter().take(BINARY_START).any(|byte| *byte == 0);
    let text = String::from_utf8(bytes);
    match &text {
        _ if is_binary => note(
            "warning: the piped input is binary, and a model reads it as text; pass images and \
             other files as @FILE",
        ),
        Err(_) => note("warning: the piped input is not UTF-8; invalid bytes are replaced"),
        Ok(_) => {}
    }
    let text = text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    let text = without_mark(&text);
    Ok((!text.trim().is_empty()).then(|| text.to_owned()))
}

/// Mentions that the input is read, unless the returned value is dropped within a second. A caller
/// who left the input open by mistake would wait without an explanation.
fn mention_delay() -> mpsc::Sender<()> {
    let (is_read, input) = mpsc::channel();
    std::thread::spawn(move || {
        if input.recv_timeout(INPUT_DELAY) == Err(RecvTimeoutError::Timeout) {
            note("reading standard input until it ends; --no-stdin skips it");
        }
    });
    is_read
}
