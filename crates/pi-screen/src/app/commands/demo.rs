//! `/demo`: plays `pi demo`, which needs no key, and opens its session.

use std::path::PathBuf;
use std::process::Stdio;

use pi_base::process::{Rights, Variables, command};
use pi_host::sessions::SessionStore;

use super::resume;
use crate::app::App;

/// The words before the id of the session in what the demo prints.
const SHOW: &str = "pi sessions show ";

pub(super) fn run(app: &mut App, _argument: &str) {
    app.status("Playing the demo: a scripted model corrects a script in a temporary directory…");
    let project = app.runtime.project();
    let play = move || {
        let printed = played()?;
        let id = printed.split(SHOW).nth(1).and_then(|rest| rest.split_whitespace().next());
        let id = id.ok_or_else(|| format!("the demo ended without a session: {printed}"))?;
        let path = SessionStore::open(project, None).find(id).map_err(|error| error.to_string())?;
        Ok::<PathBuf, String>(path)
    };
    app.tasks.spawn_blocking(play, |app, played| match played {
        Ok(path) => {
            resume::open_then(app, path, |app| {
                app.status(
                    "This is the session of the demo. /undo shows its change and takes it back; \
                     /resume returns to your sessions, with tab for all directories",
                );
            });
        }
        Err(error) => app.error(error),
    });
}

/// Runs the demo to its end, and returns what it reports.
fn played() -> Result<String, String> {
    let program = std::env::current_exe();
    let program = program.map_err(|error| format!("pi does not know where it is: {error}"))?;
    let mut demo = command(program, None, Variables::Inherited, Rights::Own);
    let output = demo.arg("demo").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("the demo cannot be started: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(printed) } else { Err(format!("the demo failed: {printed}")) }
}
