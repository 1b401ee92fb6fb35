//! Tests of what follows from environment variables, and of sequences that draw nothing.

use std::time::Duration;

use crate::input::Timing;
use crate::style::ColorDepth;
use crate::terminal::capabilities::{
    Capabilities, ImageProtocol, Multiplexer, Notification, Reflow,
};
use crate::terminal::clipboard::{
    self, Attempt, Claim, Command, Encoding, Output, Surroundings, System,
};
use crate::terminal::sequences::{self, Activity};
use crate::terminal::start::Queries;

/// Returns a lookup in `NAME=value` words.
fn variables(text: &str) -> impl Fn(&str) -> Option<String> {
    move |name| {
        text.split_whitespace()
            .filter_map(|word| word.split_once('='))
            .find(|(variable, _)| *variable == name)
            .map(|(_, value)| value.to_owned())
    }
}

fn capabilities(text: &str) -> Capabilities {
    Capabilities::from_env(variables(text))
}

/// Writes capabilities shortly: colors, links, images, multiplexer, notification, reflow.
fn short(it: &Capabilities) -> String {
    let depth = match it.color_depth {
        ColorDepth::None => "none",
        ColorDepth::Ansi16 => "16",
        ColorDepth::Ansi256 => "256",
        ColorDepth::True => "true",
    };
    let links = if it.hyperlinks { " links" } else { "" };
    let images = match it.images {
        Some(ImageProtocol::Kitty) => " kitty",
        Some(ImageProtocol::Iterm2) => " iterm2",
        None => "",
    };
    let multiplexer = it.multiplexer.map(|it| format!(" {it:?}")).unwrap_or_default();
    let (notification, reflow) = (it.notification, it.reflow);
    format!("{depth}{links}{images}{multiplexer} {notification:?} {reflow:?}")
}

#[test]
fn terminals_by_their_variables() {
    for (environment, expected) in [
        ("TERM=xterm-256color", "256 Bell Unknown"),
        ("TERM=xterm", "256 Bell Unknown"),
        ("TERM=xterm-256color COLORTERM=truecolor", "true Bell Unknown"),
        ("TERM=xterm-direct", "true Bell Unknown"),
        ("TERM=xterm-256color COLORTERM=24bit XTERM_VERSION=390", "true Bell Keeps"),
        ("TERM=xterm-kitty KITTY_WINDOW_ID=1", "true links kitty Osc99 Wraps"),
        ("TERM=xterm-ghostty TERM_PROGRAM=ghostty", "true links kitty Osc9 Wraps"),
        ("TERM=xterm-256color TERM_PROGRAM=WezTerm", "true links kitty Osc9 Wraps"),
        ("TERM=xterm-256color TERM_PROGRAM=WarpTerminal", "true links kitty Osc9 Wraps"),
        ("TERM=xterm-256color TERM_PROGRAM=iTerm.app", "true links iterm2 Osc9 Wraps"),
        (
            "TERM=xterm-256color LC_TERMINAL=iTerm2 SSH_TTY=/dev/pts/1",
            "true links iterm2 Osc9 Wraps",
        ),
        ("TERM=xterm-256color WT_SESSION=1", "true links Bell Wraps"),
        ("WT_SESSION=1", "true links Bell Wraps"),
        ("TERM=alacritty", "true links Bell Wraps"),
        ("TERM=xterm-256color TERM_PROGRAM=vscode", "true links Bell Wraps"),
        ("TERM=xterm-256color TERM_PROGRAM=zed", "true links Bell Wraps"),
        ("TERM=foot", "true links Osc777 Wraps"),
        ("TERM=xterm-256color VTE_VERSION=7600", "true links Bell Wraps"),
        ("TERM=xterm-256color TERM_PROGRAM=Apple_Terminal", "256 Bell Unknown"),
        ("TERM=linux", "16 Bell Keeps"),
        // The innermost terminal counts: vscode was started from kitty.
        ("TERM=xterm-256color TERM_PROGRAM=vscode KITTY_WINDOW_ID=1", "true links Bell Wraps"),
        // Multiplexers: no images, in any terminal.
        ("TERM=tmux-256color TMUX=/tmp/x KITTY_WINDOW_ID=1", "256 Tmux Osc99 Wraps"),
        ("TERM=screen-256color TMUX=/tmp/x COLORTERM=truecolor", "true Tmux Osc9 Wraps"),
        ("TERM=screen STY=1.x", "16 Screen Osc9 Keeps"),
        ("TERM=xterm-256color ZELLIJ=0 KITTY_WINDOW_ID=1", "256 links Zellij Osc99 Wraps"),
        // Overrides.
        ("TERM=xterm-kitty PI_IMAGE_PROTOCOL=none PI_HYPERLINKS=0", "true Osc99 Wraps"),
        ("TERM=xterm-kitty PI_TRUE_COLOR=0", "256 links kitty Osc99 Wraps"),
        ("TERM=tmux-256color TMUX=x PI_IMAGE_PROTOCOL=kitty", "256 kitty Tmux Osc9 Wraps"),
        ("TERM=linux PI_TRUE_COLOR=1 PI_HYPERLINKS=1", "true links Bell Keeps"),
    ] {
        assert_eq!(short(&capabilities(environment)), expected, "{environment}");
    }
}

#[test]
fn other_capabilities() {
    for (environment, dumb) in [
        ("TERM=dumb", true),
        ("TERM=dumb COLORTERM=truecolor", true),
        ("", true),
        ("TERM=xterm", false),
        ("TERM_PROGRAM=vscode", false),
    ] {
        let capabilities = capabilities(environment);
        assert_eq!(capabilities.is_dumb, dumb, "{environment}");
        assert_eq!(capabilities.queries() == Queries::NONE, dumb, "{environment}");
    }
    assert_eq!(capabilities("TERM=linux").queries(), Queries::NONE);
    let kitty = Queries { keyboard: true, colors: true, cell_size: true };
    assert_eq!(capabilities("TERM=xterm-kitty").queries(), kitty);
    let plain = capabilities("TERM=xterm-kitty NO_COLOR=1");
    assert_eq!(plain.color_depth, ColorDepth::None);
    assert!(!plain.queries().colors);
    assert_eq!(capabilities("TERM=xterm NO_COLOR=").color_depth, ColorDepth::Ansi256);
    assert_eq!(capabilities("TERM=xterm").timing, Timing::LOCAL);
    assert_eq!(capabilities("TERM=xterm SSH_CONNECTION=x").timing, Timing::REMOTE);
    let slow = capabilities("TERM=xterm SSH_TTY=x PI_TUI_ESC_TIMEOUT=250").timing;
    assert_eq!(slow.escape, Duration::from_millis(250));
    assert_eq!(capabilities("TERM=xterm PI_TUI_ESC_TIMEOUT=x").timing, Timing::LOCAL);
    assert_eq!(capabilities("PI_PROGRAM_STATUS=0").program_status, Some(false));
    assert!(!capabilities("TERM=tmux TMUX=x").has_mouse_motion());
    assert_eq!(Reflow::Wraps, capabilities("TERM=tmux").reflow);
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap().replace('\x1b', "␛").replace('\x07', "␇")
}

#[test]
fn title_progress_and_status() {
    assert_eq!(shown(&sequences::title("π - proj")), "␛]0;π - proj␇");
    let hostile = sequences::title("a\x07b\x1b]52;c;eA==\x07\nc\u{9c}\u{202e}d");
    assert_eq!(shown(&hostile), "␛]0;ab]52;c;eA== cd␇");
    assert!(sequences::title(&"x".repeat(10_000)).len() < 300);
    assert_eq!(shown(&sequences::progress(true)), "␛]9;4;3;␇");
    assert_eq!(shown(&sequences::progress(false)), "␛]9;4;0;␇");
    assert_eq!(
        shown(&sequences::status(Activity::Blocked, "pi", Some("approval"), Some("rm?"))),
        "␛]7501;state=blocked:app=pi:kind=approval:msg=cm0/␛\\"
    );
    assert_eq!(
        shown(&sequences::status(Activity::Idle, "a:b", None, None)),
        "␛]7501;state=idle:app=a-b␛\\"
    );
    assert_eq!(shown(&sequences::clear_status()), "␛]7501;state=clear␛\\");
}

#[test]
fn notifications() {
    use Multiplexer::{Screen, Tmux, Zellij};
    use Notification::{Bell, Osc9, Osc99, Osc777};
    for (kind, multiplexer, expected) in [
        (Bell, None, "␇"),
        (Bell, Some(Tmux), "␇"),
        (Osc9, None, "␛]9;pi: done; ok␇"),
        (Osc777, None, "␛]777;notify;pi;done; ok␇"),
        (Osc99, None, "␛]99;i=1:d=0:e=1;cGk=␛\\␛]99;i=1:d=1:e=1:p=body;ZG9uZTsgb2s=␛\\"),
        (Osc9, Some(Tmux), "␛Ptmux;␛␛]9;pi: done; ok␇␛\\␇"),
        (Osc9, Some(Screen), "␛P␛]9;pi: done; ok␇␛\\␇"),
        (Osc9, Some(Zellij), "␛]9;pi: done; ok␇␇"),
        (Osc99, Some(Screen), "␇"),
    ] {
        let bytes = sequences::notification(kind, multiplexer, "pi", "done; ok");
        assert_eq!(shown(&bytes), expected, "{kind:?} {multiplexer:?}");
    }
    // A title must not become progress.
    let bytes = sequences::notification(Osc9, None, "4;1;50", "");
    assert_eq!(shown(&bytes), "␛]9;4,1,50␇");
}

#[test]
fn copying_through_the_terminal() {
    assert_eq!(shown(&sequences::copy("hi", None).unwrap()), "␛]52;c;aGk=␇");
    assert_eq!(
        shown(&sequences::copy("hi", Some(Multiplexer::Tmux)).unwrap()),
        "␛Ptmux;␛␛]52;c;aGk=␇␛\\␛]52;c;aGk=␇"
    );
    assert_eq!(
        shown(&sequences::copy("hi", Some(Multiplexer::Screen)).unwrap()),
        "␛P␛]52;c;aGk=␇␛\\"
    );
    assert!(sequences::copy(&"x".repeat(75_000), None).is_some());
    assert!(sequences::copy(&"x".repeat(75_001), None).is_none());
}

/// Writes attempts shortly.
fn plan(system: System, environment: &str) -> Vec<String> {
    let surroundings = Surroundings::from_env(system, variables(environment));
    let attempts = clipboard::copy(surroundings);
    assert!(!attempts.is_empty());
    let name = |attempt: &Attempt| match attempt {
        Attempt::Run { command: Command { program, .. }, claim: Claim::Copied, .. } => {
            (*program).to_owned()
        }
        Attempt::Run { command, claim: Claim::Sent, .. } => format!("{}?", command.program),
        Attempt::Osc52 => "osc52?".to_owned(),
    };
    attempts.iter().map(name).collect()
}

#[test]
fn ways_to_copy() {
    let table: &[(System, &str, &[&str])] = &[
        (System::MacOs, "", &["pbcopy", "osc52?"]),
        (System::MacOs, "SSH_TTY=x", &["osc52?"]),
        (System::Windows, "", &["clip.exe", "osc52?"]),
        (System::Linux, "WSL_DISTRO_NAME=Debian", &["clip.exe", "osc52?"]),
        (System::Linux, "WAYLAND_DISPLAY=w DISPLAY=:0", &["wl-copy", "xclip", "xsel", "osc52?"]),
        (System::Linux, "DISPLAY=:0 TMUX=x", &["xclip", "xsel", "tmux?", "osc52?"]),
        (System::Linux, "", &["osc52?"]),
        (System::Linux, "SSH_CONNECTION=x TMUX=x DISPLAY=:10", &["tmux?", "osc52?"]),
        (System::Linux, "TERMUX_VERSION=1", &["termux-clipboard-set", "osc52?"]),
        (System::MacOs, "PI_CLIPBOARD_OSC52=1", &["osc52?", "pbcopy"]),
    ];
    for (system, environment, expected) in table {
        assert_eq!(plan(*system, environment), *expected, "{system:?} {environment}");
    }
    assert_eq!(Encoding::Utf16.encode("ä"), [0xff, 0xfe, 0xe4, 0x00]);
}

#[test]
fn ways_to_read() {
    let programs = |reads: Vec<clipboard::Read>| -> Vec<&str> {
        reads.iter().map(|read| read.command.program).collect()
    };
    let table: &[(System, &str, &[&str], &[&str])] = &[
        (System::MacOs, "", &["pngpaste", "osascript"], &["pbpaste"]),
        (System::MacOs, "SSH_TTY=x", &[], &[]),
        (System::Windows, "", &["powershell.exe"], &["powershell.exe"]),
        (System::Linux, "WSL_INTEROP=x", &["powershell.exe"], &["powershell.exe"]),
        (System::Linux, "WAYLAND_DISPLAY=w", &["wl-paste", "wl-paste"], &["wl-paste"]),
        (System::Linux, "DISPLAY=:0", &["xclip", "xclip"], &["xclip", "xsel"]),
        (System::Linux, "SSH_TTY=x TMUX=x", &[], &["tmux"]),
        (System::Linux, "", &[], &[]),
    ];
    for (system, environment, image, text) in table {
        let surroundings = Surroundings::from_env(*system, variables(environment));
        assert_eq!(programs(clipboard::read_image(surroundings)), *image, "{environment}");
        assert_eq!(programs(clipboard::read_text(surroundings)), *text, "{environment}");
        let files = clipboard::read_file_path(surroundings);
        assert_eq!(files.is_empty(), environment.contains("SSH") || *system != System::MacOs);
    }
}

#[test]
fn output_of_clipboard_programs() {
    for (kind, bytes, expected) in [
        (Output::Plain, "x\n", Some("x\n")),
        (Output::Plain, "", None),
        (Output::Base64, "aGk=\r\n", Some("hi")),
        (Output::Base64, "?", None),
        (Output::AppleScript, "«data PNGf6869»\n", Some("hi")),
        (Output::AppleScript, "«data PNGf68é9»\n", None),
        (Output::AppleScript, "«data PNGf686»\n", None),
        (Output::AppleScript, "text", None),
    ] {
        let content = kind.decode(bytes.as_bytes());
        assert_eq!(content.as_deref(), expected.map(str::as_bytes), "{kind:?} {bytes:?}");
    }
}
