//! What the user sees of a running server: its address, a code for the camera of a phone, the page in
//! a browser, and problems.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use pi_coding_agent::Environment;
use pi_host::browser;
use pi_serve::Server;
use qrcodegen::{QrCode, QrCodeEcc};
use secrecy::{ExposeSecret as _, SecretString};

use crate::exit::{Failure, note, print};

/// Prints the address of the page, once. The token is in it only on a terminal: what is no terminal
/// may be a log. Returns true if the token was shown or is known to the user.
pub(super) fn show(server: &Server, token: Option<&SecretString>, prints_qr: bool) -> bool {
    let state = server.state();
    let base = state.base_url();
    let is_terminal = std::io::stdout().is_terminal();
    let Some(token) = token.filter(|_| is_terminal) else {
        note(&format!("serving {base}/"));
        if token.is_some() {
            note(
                "the token is shown on a terminal only; make one with `pi serve token add NAME`, or set --token-file",
            );
        }
        return token.is_none();
    };
    let url = state.url(token.expose_secret());
    let mut text = format!("Open {url}\n");
    // No phone reaches the loopback of this machine.
    if prints_qr && !is_local(&base) {
        text.push_str(&code(&url).unwrap_or_default());
    }
    text.push_str(
        "The link signs in every browser that opens it. Press Ctrl+C to stop the server.\n",
    );
    // A terminal that is gone ends the server by its signal.
    let _ = print(&text);
    true
}

/// Returns true if an address is that of this machine for itself.
fn is_local(base: &str) -> bool {
    let host = base.split("//").nth(1).unwrap_or_default();
    ["127.", "localhost", "[::1]"].iter().any(|local| host.starts_with(local))
}

/// Returns a QR code of half blocks, two rows in a line, dark on light on every terminal.
fn code(text: &str) -> Option<String> {
    const MARGIN: i32 = 2;
    let code = QrCode::encode_text(text, QrCodeEcc::Low).ok()?;
    let mut lines = String::new();
    let ends = (-MARGIN, code.size() + MARGIN);
    let mut y = ends.0;
    while y < ends.1 {
        lines.push_str("\x1b[30;107m");
        for x in ends.0..ends.1 {
            // Positions outside of the code are light.
            let (upper, lower) = (code.get_module(x, y), code.get_module(x, y + 1));
            lines.push(match (upper, lower) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            });
        }
        let _ = writeln!(lines, "\x1b[0m");
        y += 2;
    }
    Some(lines)
}

/// A page that leads a browser to the server, until it is dropped.
pub(super) struct Leading(PathBuf);

impl Drop for Leading {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Opens the page in a browser of this machine. The link has the token, and other users can read the
/// arguments of programs, so a private file leads to it.
pub(super) fn open(
    server: &Server,
    token: Option<&SecretString>,
    environment: &Environment,
) -> Option<Leading> {
    let Some(program) = browser::program(environment) else {
        note("there is no browser to open on this machine");
        return None;
    };
    let state = server.state();
    let Some(token) = token else {
        if !browser::open(&program, &state.base_url()) {
            note(&format!("cannot start {program}"));
        }
        return None;
    };
    let page = state.options.directory.join(format!("open-{}.html", std::process::id()));
    match write_page(&page, &state.url(token.expose_secret())) {
        Ok(()) if browser::open_private(&program, &page) => Some(Leading(page)),
        Ok(()) => {
            note(&format!("cannot start {program}"));
            Some(Leading(page))
        }
        Err(error) => {
            note(&format!("cannot write {}: {error}", page.display()));
            None
        }
    }
}

/// Writes a page that leads to an address, which has no character of markup.
fn write_page(path: &Path, url: &str) -> std::io::Result<()> {
    let mut file = pi_fs::private_file().create(true).truncate(true).write(true).open(path)?;
    write!(
        file,
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<title>pi</title>\n"
    )
}

/// Reports problems of the audit log, as they come. Never ends.
pub(super) async fn report(server: &Server) -> Result<ExitCode, Failure> {
    loop {
        tokio::time::sleep(Duration::from_secs(5)).await;
        if let Some(problem) = server.state().audit.take_problem() {
            note(&problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_square_and_has_only_blocks() {
        let text =
            code("https://pi.example.org/#t=0123456789012345678901234567890123456789012").unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let width = |line: &str| {
            let line = line.trim_start_matches("\x1b[30;107m").trim_end_matches("\x1b[0m");
            assert!(line.chars().all(|char| " █▀▄".contains(char)), "{line}");
            line.chars().count()
        };
        let widths: Vec<usize> = lines.iter().map(|line| width(line)).collect();
        assert!(widths.iter().all(|one| *one == widths[0]) && widths[0].div_ceil(2) == lines.len());
        assert!(width(lines[0]) < 60, "it fits a terminal of 80 columns");
    }

    #[test]
    fn codes_are_for_addresses_that_a_phone_reaches() {
        for local in ["http://127.0.0.1:7317", "http://localhost:1", "http://[::1]:7317"] {
            assert!(is_local(local), "{local}");
        }
        assert!(!is_local("https://pi.example.org") && !is_local("http://192.168.1.2:7317"));
    }
}
