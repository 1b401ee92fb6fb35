//! `/share`: writes the session as a page, and publishes it with a command of the user.
//!
//! Nothing leaves the machine unless the user has set `shareCommand` in their own settings and
//! confirms.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use pi_base::process::{Rights, Variables, command};
use pi_host::export::{ExportError, Format, open, redacted, to_file};

use super::export::saved_file;
use crate::app::App;
use crate::panels::question::Question;

pub(super) fn run(app: &mut App, _argument: &str) {
    let Some(source) = saved_file(app) else { return };
    let target = source.with_extension("html");
    let secrets = app.program.secrets;
    let write = move || -> Result<PathBuf, ExportError> {
        to_file(&mut redacted(open(&source)?, secrets())?, Format::Html, &target, true)?;
        Ok(target)
    };
    app.tasks.spawn_blocking(write, |app, written| match written {
        Ok(page) => offer(app, page),
        Err(error) => app.error(error.to_string()),
    });
}

/// Offers to publish a page, if the user has set how.
fn offer(app: &mut App, page: PathBuf) {
    // A project's settings cannot set this: the command gets the session.
    let Some(command) = app.preferences.share_command.clone() else {
        return app.status(format!(
            "The session is a page now: {}\nTo publish pages with /share, set shareCommand in your \
             settings to a command that takes a file and prints its address",
            page.display()
        ));
    };
    let answers = vec![(true, "Publish"), (false, "Only keep the page")];
    let details = format!("Page: {}\nCommand: {command}", page.display());
    let question =
        Question::with_answers("Publish this session?", &details, answers, false, &app.keymap)
            .permitting(|is_wanted| *is_wanted);
    app.panels.open_then(question, move |app, is_wanted| {
        if is_wanted {
            publish(app, command.clone(), page.clone());
        } else {
            app.status(format!("The page is not published: {}", page.display()));
        }
    });
}

fn publish(app: &mut App, command: String, page: PathBuf) {
    app.status("Publishing…");
    app.tasks.spawn_blocking(
        move || published(&command, &page),
        |app, result| match result {
            Ok(address) => app.status(format!("Shared: {address}")),
            Err(error) => app.error(error),
        },
    );
}

/// Runs the command and returns the address that it prints last.
fn published(line: &str, page: &Path) -> Result<String, String> {
    let output = command("sh", None, Variables::Inherited, Rights::User)
        .args(["-c", &format!("{line} \"$1\""), "sh"])
        .arg(page)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run shareCommand: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let address = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    match address {
        Some(address) if output.status.success() => Ok(address.to_owned()),
        _ => {
            let errors = String::from_utf8_lossy(&output.stderr);
            let reason = errors.lines().map(str::trim).rfind(|line| !line.is_empty());
            let reason = reason.unwrap_or("it printed no address");
            Err(format!("shareCommand failed ({}): {reason}", output.status))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_address() {
        let page = Path::new("/tmp/a page.html");
        let cases = [
            ("echo uploading; echo", Ok("/tmp/a page.html")),
            ("printf 'https://example.com/x\\n'; true", Ok("https://example.com/x")),
            ("true", Err("it printed no address")),
            ("echo refused >&2; false", Err("refused")),
        ];
        for (command, expected) in cases {
            match (published(command, page), expected) {
                (Ok(address), Ok(expected)) => assert_eq!(address, expected, "{command}"),
                (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
                (result, _) => panic!("{command}: {result:?}"),
            }
        }
    }
}
