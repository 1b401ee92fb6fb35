//! What a terminal can do, as far as environment variables tell. Answers of the terminal itself
//! (`start`) and settings of the user come after this and win.

use std::time::Duration;

use super::start::Queries;
use crate::input::Timing;
use crate::style::ColorDepth;

/// A protocol for images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum ImageProtocol {
    Kitty,
    Iterm2,
}

/// A program between the terminal and this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Multiplexer {
    Tmux,
    Screen,
    Zellij,
}

/// The sequence that makes a terminal show a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// OSC 9, of iTerm2.
    Osc9,
    /// OSC 99, of kitty.
    Osc99,
    /// OSC 777, of rxvt.
    Osc777,
    /// Only the bell.
    Bell,
}

/// The behavior of a terminal for long lines when its width changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reflow {
    /// Lines are wrapped again.
    Wraps,
    /// Lines are cut, or stay as they are.
    Keeps,
    /// Not known.
    Unknown,
}

/// The capabilities of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Colors that the terminal shows, and the user wants.
    pub color_depth: ColorDepth,
    /// The terminal opens links (OSC 8).
    pub hyperlinks: bool,
    /// The protocol for images, if there is one.
    pub images: Option<ImageProtocol>,
    /// The multiplexer around this program.
    pub multiplexer: Option<Multiplexer>,
    /// The terminal has no cursor movement; only plain lines can be written.
    pub is_dumb: bool,
    /// The terminal is on another machine.
    pub is_remote: bool,
    /// Notifications.
    pub notification: Notification,
    /// Long lines when the width changes.
    pub reflow: Reflow,
    /// Times for incomplete input.
    pub timing: Timing,
    /// The terminal shows the status of programs (OSC 7501), if the user says so.
    pub program_status: Option<bool>,
    /// The terminal prints questions that it does not know, so none may be asked.
    pub prints_unknown: bool,
}

/// Features of a known terminal.
struct Known {
    name: &'static str,
    hyperlinks: bool,
    images: Option<ImageProtocol>,
    notification: Notification,
    reflow: Reflow,
}

const fn known(
    name: &'static str,
    hyperlinks: bool,
    images: Option<ImageProtocol>,
    notification: Notification,
    reflow: Reflow,
) -> Known {
    Known { name, hyperlinks, images, notification, reflow }
}

/// Terminals that have true colors, by name.
const TERMINALS: &[Known] = {
    use ImageProtocol::{Iterm2, Kitty};
    use Notification::{Bell, Osc9, Osc99, Osc777};
    use Reflow::{Unknown, Wraps};
    &[
        known("kitty", true, Some(Kitty), Osc99, Wraps),
        known("ghostty", true, Some(Kitty), Osc9, Wraps),
        known("wezterm", true, Some(Kitty), Osc9, Wraps),
        known("warp", true, Some(Kitty), Osc9, Wraps),
        known("rex", true, Some(Kitty), Osc9, Unknown),
        known("iterm", true, Some(Iterm2), Osc9, Wraps),
        known("windows-terminal", true, None, Bell, Wraps),
        known("alacritty", true, None, Bell, Wraps),
        known("vscode", true, None, Bell, Wraps),
        known("zed", true, None, Bell, Wraps),
        known("foot", true, None, Osc777, Wraps),
        known("konsole", true, None, Bell, Wraps),
        known("vte", true, None, Bell, Wraps),
    ]
};

/// Variables that only one terminal sets.
const VARIABLES: &[(&str, &str)] = &[
    ("KITTY_WINDOW_ID", "kitty"),
    ("GHOSTTY_RESOURCES_DIR", "ghostty"),
    ("WEZTERM_PANE", "wezterm"),
    ("ITERM_SESSION_ID", "iterm"),
    ("WT_SESSION", "windows-terminal"),
    ("ALACRITTY_WINDOW_ID", "alacritty"),
    ("ZED_TERM", "zed"),
    ("KONSOLE_VERSION", "konsole"),
    ("VTE_VERSION", "vte"),
];

/// Values of `TERM_PROGRAM` and `LC_TERMINAL`, in lower case.
const PROGRAMS: &[(&str, &str)] = &[
    ("kitty", "kitty"),
    ("ghostty", "ghostty"),
    ("wezterm", "wezterm"),
    ("warpterminal", "warp"),
    ("rex", "rex"),
    ("iterm.app", "iterm"),
    ("iterm2", "iterm"),
    ("alacritty", "alacritty"),
    ("vscode", "vscode"),
    ("zed", "zed"),
];

/// Beginnings of `TERM`.
const TERMS: &[(&str, &str)] = &[
    ("xterm-kitty", "kitty"),
    ("xterm-ghostty", "ghostty"),
    ("ghostty", "ghostty"),
    ("wezterm", "wezterm"),
    ("alacritty", "alacritty"),
    ("foot", "foot"),
];

impl Capabilities {
    /// Reads the capabilities from environment variables, which `variable` returns by name.
    pub fn from_env(variable: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| variable(name).filter(|value| !value.is_empty());
        let term = get("TERM").unwrap_or_default().to_ascii_lowercase();
        let multiplexer = multiplexer(&term, &get);
        let terminal = terminal(&term, &get);
        let direct = multiplexer.is_none();
        let is_console = ["linux", "cons25", "vt52", "vt100"].contains(&term.as_str());
        let is_remote =
            ["SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT"].iter().any(|it| get(it).is_some());

        let images = match get("PI_IMAGE_PROTOCOL").map(|it| it.to_ascii_lowercase()).as_deref() {
            Some("kitty") => Some(ImageProtocol::Kitty),
            Some("iterm2" | "iterm") => Some(ImageProtocol::Iterm2),
            Some("none" | "off" | "0") => None,
            _ if direct => terminal.and_then(|it| it.images),
            _ => None,
        };
        let hyperlinks = match multiplexer {
            None => terminal.is_some_and(|it| it.hyperlinks),
            Some(Multiplexer::Zellij) => true,
            Some(Multiplexer::Tmux | Multiplexer::Screen) => false,
        };
        let reflow = match multiplexer {
            Some(Multiplexer::Screen) => Reflow::Keeps,
            Some(Multiplexer::Tmux | Multiplexer::Zellij) => Reflow::Wraps,
            None if is_console || get("XTERM_VERSION").is_some() => Reflow::Keeps,
            None => terminal.map_or(Reflow::Unknown, |it| it.reflow),
        };
        Self {
            color_depth: color_depth(&term, direct && terminal.is_some(), is_console, &get),
            hyperlinks: flag(get("PI_HYPERLINKS")).unwrap_or(hyperlinks),
            images,
            multiplexer,
            is_dumb: term == "dumb" || (term.is_empty() && terminal.is_none()),
            is_remote,
            notification: terminal.map_or(
                // Behind a multiplexer the terminal is rarely known, and most know OSC 9.
                if direct { Notification::Bell } else { Notification::Osc9 },
                |it| it.notification,
            ),
            reflow,
            timing: timing(is_remote, get("PI_TUI_ESC_TIMEOUT")),
            program_status: flag(get("PI_PROGRAM_STATUS")),
            prints_unknown: is_console,
        }
    }

    /// Returns true if reports of all mouse movements are welcome.
    pub fn has_mouse_motion(&self) -> bool {
        self.multiplexer.is_none()
    }

    /// Returns the questions to ask at the start.
    pub fn queries(&self) -> Queries {
        if self.is_dumb || self.prints_unknown {
            return Queries::NONE;
        }
        Queries {
            keyboard: true,
            colors: self.color_depth != ColorDepth::None,
            cell_size: self.images.is_some(),
        }
    }
}

fn multiplexer(term: &str, get: &impl Fn(&str) -> Option<String>) -> Option<Multiplexer> {
    if get("TMUX").is_some() || term.starts_with("tmux") {
        Some(Multiplexer::Tmux)
    } else if get("ZELLIJ").is_some() {
        Some(Multiplexer::Zellij)
    } else if get("STY").is_some() || term.starts_with("screen") {
        Some(Multiplexer::Screen)
    } else {
        None
    }
}

/// Returns the terminal: by what it sets for the programs in it, the innermost first.
fn terminal(term: &str, get: &impl Fn(&str) -> Option<String>) -> Option<&'static Known> {
    let program = |name| get(name).map(|value| value.to_ascii_lowercase());
    let named = |value: Option<String>| {
        let value = value?;
        PROGRAMS.iter().find(|(program, _)| *program == value).map(|(_, name)| *name)
    };
    let by_term = TERMS.iter().find(|(start, _)| term.starts_with(start)).map(|(_, name)| *name);
    let by_variable = || VARIABLES.iter().find(|(it, _)| get(it).is_some()).map(|(_, name)| *name);
    let name = named(program("TERM_PROGRAM"))
        .or(by_term)
        .or_else(by_variable)
        .or_else(|| named(program("LC_TERMINAL")))?;
    TERMINALS.iter().find(|terminal| terminal.name == name)
}

fn color_depth(
    term: &str,
    is_known: bool,
    is_console: bool,
    get: &impl Fn(&str) -> Option<String>,
) -> ColorDepth {
    let colorterm = get("COLORTERM").unwrap_or_default().to_ascii_lowercase();
    let is_true = colorterm == "truecolor" || colorterm == "24bit" || term.ends_with("-direct");
    match flag(get("PI_TRUE_COLOR")) {
        _ if get("NO_COLOR").is_some() => ColorDepth::None,
        Some(true) => ColorDepth::True,
        None if is_true || is_known => ColorDepth::True,
        _ if term.contains("256color") => ColorDepth::Ansi256,
        _ if is_console || ["screen", "ansi", "rxvt"].contains(&term) => ColorDepth::Ansi16,
        _ => ColorDepth::Ansi256,
    }
}

fn timing(is_remote: bool, escape: Option<String>) -> Timing {
    let timing = if is_remote { Timing::REMOTE } else { Timing::LOCAL };
    match escape.and_then(|value| value.trim().parse().ok()) {
        Some(milliseconds @ 0..=10_000) => {
            Timing { escape: Duration::from_millis(milliseconds), ..timing }
        }
        _ => timing,
    }
}

/// Reads a switch: 1 or 0, in words or numbers.
fn flag(value: Option<String>) -> Option<bool> {
    match value?.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}
