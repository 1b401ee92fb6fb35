//! Answers of a terminal to queries. None of them may ever reach an editor as text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::style::Rgb;
use crate::theme::Appearance;

/// The answer to a query, or a report that was subscribed to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// The flags of the kitty keyboard protocol that are in effect; 0 if none are.
    KittyFlags(u8),
    /// The primary device attributes. Every terminal answers this query, so it is the last one of
    /// a series.
    PrimaryAttributes(Vec<u16>),
    /// The position of the cursor, from 0.
    CursorPosition {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
    },
    /// The default color of text.
    Foreground(Rgb),
    /// The default color of the background.
    Background(Rgb),
    /// An entry of the palette.
    Palette(u8, Rgb),
    /// The size of a cell in pixels.
    CellSize {
        /// Width in pixels.
        width: u16,
        /// Height in pixels.
        height: u16,
    },
    /// The appearance that the user chose for the desktop.
    ColorScheme(Appearance),
    /// The terminal shows the status of programs (OSC 7501).
    ProgramStatus,
    /// Name and version of the terminal.
    TerminalVersion(String),
    /// The content of the clipboard.
    Clipboard(Vec<u8>),
}

/// Decodes the content of an OSC sequence.
pub(super) fn osc(content: &[u8]) -> Option<Reply> {
    let text = std::str::from_utf8(content).ok()?;
    let (command, rest) = text.split_once(';').unwrap_or((text, ""));
    match command {
        "4" => {
            let (index, color) = rest.split_once(';')?;
            Some(Reply::Palette(index.parse().ok()?, color_spec(color)?))
        }
        "10" => Some(Reply::Foreground(color_spec(rest)?)),
        "11" => Some(Reply::Background(color_spec(rest)?)),
        "52" => {
            let (_, data) = rest.split_once(';')?;
            Some(Reply::Clipboard(STANDARD.decode(data).ok()?))
        }
        "7501" => Some(Reply::ProgramStatus),
        _ => None,
    }
}

/// Decodes the content of a DCS sequence.
pub(super) fn dcs(content: &[u8]) -> Option<Reply> {
    let version = content.strip_prefix(b">|")?;
    Some(Reply::TerminalVersion(String::from_utf8_lossy(version).into_owned()))
}

/// Reads a color as X11 writes it: `rgb:ffff/8000/0000`, `rgba:…`, `#ff8000`.
fn color_spec(text: &str) -> Option<Rgb> {
    if let Some(digits) = text.strip_prefix('#') {
        if !digits.is_ascii() || digits.is_empty() || digits.len() % 3 != 0 {
            return None;
        }
        let length = digits.len() / 3;
        let mut channels = digits.as_bytes().chunks(length).map(channel);
        return Some(Rgb(channels.next()??, channels.next()??, channels.next()??));
    }
    let channels = text.strip_prefix("rgb:").or_else(|| text.strip_prefix("rgba:"))?;
    let mut channels = channels.split('/').map(|digits| channel(digits.as_bytes()));
    Some(Rgb(channels.next()??, channels.next()??, channels.next()??))
}

/// Scales one to four hexadecimal digits to 8 bits.
fn channel(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits).ok()?;
    if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let value = u32::from_str_radix(digits, 16).ok()?;
    let most = (1u32 << (4 * digits.len())) - 1;
    u8::try_from((value * 255 + most / 2) / most).ok()
}
