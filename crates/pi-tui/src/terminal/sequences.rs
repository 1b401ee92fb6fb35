//! Sequences that draw nothing: title, progress, status, notifications, clipboard. Text in them is
//! cleaned here; it never ends its sequence early.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_base::text::one_line;

use super::capabilities::{Multiplexer, Notification};

/// The longest base64 text that terminals take into the clipboard.
const MAX_CLIPBOARD: usize = 100_000;
/// The longest title or notification, in characters.
const MAX_TEXT: usize = 256;
/// The longest sequence that GNU screen passes on.
const MAX_SCREEN: usize = 700;

/// The activity of a program, for terminals that show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Activity {
    Idle,
    Working,
    /// Waits for the user.
    Blocked,
    Done,
    Error,
}

impl Activity {
    fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Working => "working",
            Self::Blocked => "blocked",
            Self::Done => "done",
            Self::Error => "error",
        }
    }
}

/// Returns the sequence that sets the title of the window and of its tab.
pub fn title(text: &str) -> Vec<u8> {
    format!("\x1b]0;{}\x07", clean(text)).into_bytes()
}

/// Returns the sequence that shows (true) or hides that the program works (OSC 9;4). Terminals
/// forget it after a while, so it is repeated.
pub fn progress(is_working: bool) -> Vec<u8> {
    let state = if is_working { 3 } else { 0 };
    format!("\x1b]9;4;{state};\x07").into_bytes()
}

/// Returns the sequence that reports the activity of a program (OSC 7501). `kind` and `message`
/// tell more about it. Only for terminals that said that they know it.
pub fn status(activity: Activity, app: &str, kind: Option<&str>, message: Option<&str>) -> Vec<u8> {
    let mut text = format!("\x1b]7501;state={}:app={}", activity.name(), field(app));
    if let Some(kind) = kind {
        text += &format!(":kind={}", field(kind));
    }
    if let Some(message) = message {
        text += &format!(":msg={}", STANDARD.encode(clean(message)));
    }
    text += "\x1b\\";
    text.into_bytes()
}

/// Returns the sequence that removes the status of a program.
pub fn clear_status() -> Vec<u8> {
    b"\x1b]7501;state=clear\x1b\\".to_vec()
}

/// Returns the bytes of a notification. Multiplexers swallow notifications, so theirs is passed
/// through to the terminal, and the bell marks the window.
pub fn notification(
    kind: Notification,
    multiplexer: Option<Multiplexer>,
    title: &str,
    body: &str,
) -> Vec<u8> {
    let (title, body) = (clean(title), clean(body));
    // A semicolon separates fields: OSC 9 with `4;` would be progress.
    let title = title.replace(';', ",");
    let sequence = match kind {
        Notification::Bell => return b"\x07".to_vec(),
        Notification::Osc9 if body.is_empty() => format!("\x1b]9;{title}\x07"),
        Notification::Osc9 => format!("\x1b]9;{title}: {body}\x07"),
        Notification::Osc777 => format!("\x1b]777;notify;{title};{body}\x07"),
        Notification::Osc99 => {
            let (title, body) = (STANDARD.encode(title), STANDARD.encode(body));
            format!("\x1b]99;i=1:d=0:e=1;{title}\x1b\\\x1b]99;i=1:d=1:e=1:p=body;{body}\x1b\\")
        }
    };
    let Some(multiplexer) = multiplexer else { return sequence.into_bytes() };
    let mut out = pass_through(multiplexer, sequence.as_bytes());
    out.push(0x07);
    out
}

/// Returns the bytes that ask the terminal to take a text into the clipboard (OSC 52), or `None` if
/// the text is too long. Whether the terminal does so is not known. Inside tmux the sequence is sent
/// twice: to tmux, and through it.
pub fn copy(text: &str, multiplexer: Option<Multiplexer>) -> Option<Vec<u8>> {
    if text.len() > MAX_CLIPBOARD {
        return None;
    }
    let data = STANDARD.encode(text);
    if data.len() > MAX_CLIPBOARD {
        return None;
    }
    let sequence = format!("\x1b]52;c;{data}\x07").into_bytes();
    let mut out = multiplexer.map(|it| pass_through(it, &sequence)).unwrap_or_default();
    if multiplexer != Some(Multiplexer::Screen) || out.is_empty() {
        out.extend_from_slice(&sequence);
    }
    Some(out)
}

/// Wraps a sequence so that a multiplexer passes it on to the terminal, as far as it can.
pub fn pass_through(multiplexer: Multiplexer, sequence: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(sequence.len() + 16);
    match multiplexer {
        Multiplexer::Tmux => {
            out.extend_from_slice(b"\x1bPtmux;");
            for byte in sequence {
                if *byte == 0x1b {
                    out.push(0x1b);
                }
                out.push(*byte);
            }
            out.extend_from_slice(b"\x1b\\");
        }
        // The string ends at the first ST, so a sequence with one cannot be passed on.
        Multiplexer::Screen
            if sequence.len() <= MAX_SCREEN && !sequence.windows(2).any(|it| it == b"\x1b\\") =>
        {
            out.extend_from_slice(b"\x1bP");
            out.extend_from_slice(sequence);
            out.extend_from_slice(b"\x1b\\");
        }
        Multiplexer::Screen => {}
        // Passes on what it does not know.
        Multiplexer::Zellij => out.extend_from_slice(sequence),
    }
    out
}

/// Returns text as one line without invisible characters, cut to a length that terminals show.
fn clean(text: &str) -> String {
    one_line(text).chars().take(MAX_TEXT).collect()
}

/// Returns a value for a list of fields, without what separates them.
fn field(text: &str) -> String {
    clean(text).replace([':', ';', '='], "-")
}
