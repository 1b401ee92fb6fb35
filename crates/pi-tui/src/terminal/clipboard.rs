//! The clipboard: which programs to try, in which order, and what may be claimed afterwards. Plain
//! data; the application runs the programs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The operating system, as far as clipboards differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum System {
    Linux,
    /// Linux in Windows.
    Wsl,
    MacOs,
    Windows,
    /// Linux in the app Termux.
    Termux,
}

/// Everything that decides which clipboard the user means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Surroundings {
    /// The operating system.
    pub system: System,
    /// The terminal is on another machine, and so is the clipboard.
    pub is_remote: bool,
    /// A Wayland display.
    pub wayland: bool,
    /// An X11 display.
    pub x11: bool,
    /// The program runs in tmux.
    pub tmux: bool,
    /// The user wants OSC 52 in any case.
    pub force_osc52: bool,
}

impl Surroundings {
    /// Reads the surroundings from environment variables, which `variable` returns by name.
    pub fn from_env(system: System, variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        let system = match system {
            System::Linux if is_set("TERMUX_VERSION") => System::Termux,
            System::Linux if is_set("WSL_DISTRO_NAME") || is_set("WSL_INTEROP") => System::Wsl,
            other => other,
        };
        let remote = ["SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT", "MOSH_CONNECTION"];
        Self {
            system,
            is_remote: remote.iter().any(|name| is_set(name)),
            wayland: is_set("WAYLAND_DISPLAY"),
            x11: is_set("DISPLAY"),
            tmux: is_set("TMUX"),
            force_osc52: variable("PI_CLIPBOARD_OSC52").is_some_and(|value| value == "1"),
        }
    }
}

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub struct Command {
    pub program: &'static str,
    pub arguments: Vec<&'static str>,
}

fn command(program: &'static str, arguments: &[&'static str]) -> Command {
    Command { program, arguments: arguments.to_vec() }
}

/// The encoding of text for a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// UTF-16, little endian, with a byte order mark.
    Utf16,
}

impl Encoding {
    /// Encodes a text.
    pub fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 => text.as_bytes().to_vec(),
            Self::Utf16 => {
                let units = std::iter::once(0xfeff).chain(text.encode_utf16());
                units.flat_map(u16::to_le_bytes).collect()
            }
        }
    }
}

/// A way to copy text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attempt {
    /// A program that reads the text from its input. Programs that stay to serve the clipboard keep
    /// their output open: do not wait for its end.
    Run {
        /// The program.
        command: Command,
        /// The encoding of its input.
        encoding: Encoding,
        /// What may be said if it ends with 0.
        claim: Claim,
    },
    /// The sequence of [`copy`](super::sequences::copy).
    Osc52,
}

/// What is known after an attempt. Attempts after one that copied are not needed; one that only
/// sent the text is followed by the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The text is in the clipboard.
    Copied,
    /// The text was sent to the terminal, which may ignore it.
    Sent,
}

impl Attempt {
    /// Returns what may be said if the attempt succeeds.
    pub fn claim(&self) -> Claim {
        match self {
            Self::Run { claim, .. } => *claim,
            Self::Osc52 => Claim::Sent,
        }
    }
}

/// Returns the ways to copy text, the best first. There is always one.
pub fn copy(surroundings: Surroundings) -> Vec<Attempt> {
    let run = |program, arguments: &[&'static str]| Attempt::Run {
        command: command(program, arguments),
        encoding: Encoding::Utf8,
        claim: Claim::Copied,
    };
    let mut attempts = Vec::new();
    // The clipboard of the other machine would be of no use.
    if !surroundings.is_remote {
        match surroundings.system {
            System::MacOs => attempts.push(run("pbcopy", &[])),
            System::Windows | System::Wsl => attempts.push(Attempt::Run {
                command: command("clip.exe", &[]),
                encoding: Encoding::Utf16,
                claim: Claim::Copied,
            }),
            System::Termux => attempts.push(run("termux-clipboard-set", &[])),
            System::Linux => {}
        }
        if surroundings.wayland {
            attempts.push(run("wl-copy", &[]));
        }
        if surroundings.x11 {
            attempts.push(run("xclip", &["-selection", "clipboard", "-in"]));
            attempts.push(run("xsel", &["--clipboard", "--input"]));
        }
    }
    let mut sent = Vec::new();
    if surroundings.tmux {
        sent.push(Attempt::Run {
            command: command("tmux", &["load-buffer", "-w", "-"]),
            encoding: Encoding::Utf8,
            claim: Claim::Sent,
        });
    }
    sent.push(Attempt::Osc52);
    if surroundings.force_osc52 {
        sent.append(&mut attempts);
        return sent;
    }
    attempts.append(&mut sent);
    attempts
}

/// The output of a program that reads the clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The content itself.
    Plain,
    /// The content as base64.
    Base64,
    /// The content as AppleScript writes it: `«data PNGf8950…»`.
    AppleScript,
}

impl Output {
    /// Returns the content, or `None` if there is none.
    pub fn decode(self, bytes: &[u8]) -> Option<Vec<u8>> {
        let content = match self {
            Self::Plain => bytes.to_vec(),
            Self::Base64 => STANDARD.decode(bytes.trim_ascii()).ok()?,
            Self::AppleScript => {
                let text = std::str::from_utf8(bytes).ok()?.trim();
                let data = text.strip_prefix("«data ")?.strip_suffix('»')?;
                let digits = data.get(4..)?.as_bytes();
                let pairs = digits.chunks(2).map(|pair| {
                    let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
                    u8::from_str_radix(pair, 16).ok()
                });
                pairs.collect::<Option<_>>()?
            }
        };
        Some(content).filter(|content| !content.is_empty())
    }
}

/// A way to read the clipboard: a program and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub struct Read {
    pub command: Command,
    pub output: Output,
}

const POWERSHELL: &[&str] = &["-NoProfile", "-NonInteractive", "-STA", "-Command"];
const POWERSHELL_IMAGE: &str = "Add-Type -AssemblyName System.Windows.Forms, System.Drawing; \
     $image = [Windows.Forms.Clipboard]::GetImage(); if ($image -eq $null) { exit 1 }; \
     $stream = New-Object IO.MemoryStream; \
     $image.Save($stream, [Drawing.Imaging.ImageFormat]::Png); \
     [Convert]::ToBase64String($stream.ToArray())";
const POWERSHELL_TEXT: &str = "$text = Get-Clipboard -Raw; if ($text -eq $null) { exit 1 }; \
     [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes($text))";

fn powershell(script: &'static str) -> Read {
    let arguments: Vec<&str> = POWERSHELL.iter().copied().chain([script]).collect();
    Read { command: Command { program: "powershell.exe", arguments }, output: Output::Base64 }
}

fn plain(program: &'static str, arguments: &[&'static str]) -> Read {
    Read { command: command(program, arguments), output: Output::Plain }
}

/// Returns the ways to read an image, the best first. The list is empty if the clipboard is on
/// another machine.
pub fn read_image(surroundings: Surroundings) -> Vec<Read> {
    let mut reads = Vec::new();
    if surroundings.is_remote {
        return reads;
    }
    match surroundings.system {
        System::MacOs => {
            reads.push(plain("pngpaste", &["-"]));
            reads.push(Read {
                command: command("osascript", &["-e", "get the clipboard as «class PNGf»"]),
                output: Output::AppleScript,
            });
        }
        System::Windows | System::Wsl => reads.push(powershell(POWERSHELL_IMAGE)),
        System::Linux | System::Termux => {}
    }
    if surroundings.wayland {
        reads.push(plain("wl-paste", &["--no-newline", "--type", "image/png"]));
        reads.push(plain("wl-paste", &["--no-newline", "--type", "image/jpeg"]));
    }
    if surroundings.x11 {
        reads.push(plain("xclip", &["-selection", "clipboard", "-t", "image/png", "-o"]));
        reads.push(plain("xclip", &["-selection", "clipboard", "-t", "image/jpeg", "-o"]));
    }
    reads
}

/// Returns the ways to read text, the best first.
pub fn read_text(surroundings: Surroundings) -> Vec<Read> {
    let mut reads = Vec::new();
    if surroundings.is_remote {
        if surroundings.tmux {
            reads.push(plain("tmux", &["save-buffer", "-"]));
        }
        return reads;
    }
    match surroundings.system {
        System::MacOs => reads.push(plain("pbpaste", &[])),
        System::Windows | System::Wsl => reads.push(powershell(POWERSHELL_TEXT)),
        System::Termux => reads.push(plain("termux-clipboard-get", &[])),
        System::Linux => {}
    }
    if surroundings.wayland {
        reads.push(plain("wl-paste", &["--no-newline", "--type", "text"]));
    }
    if surroundings.x11 {
        reads.push(plain("xclip", &["-selection", "clipboard", "-o"]));
        reads.push(plain("xsel", &["--clipboard", "--output"]));
    }
    reads
}

/// Returns the ways to read the path of a copied file, which only macOS offers to programs.
pub fn read_file_path(surroundings: Surroundings) -> Vec<Read> {
    match surroundings.system {
        System::MacOs if !surroundings.is_remote => {
            vec![plain("osascript", &["-e", "POSIX path of (the clipboard as «class furl»)"])]
        }
        _ => Vec::new(),
    }
}
