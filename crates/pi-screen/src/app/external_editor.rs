//! Edits the text of the editor in the user's own editor.

use std::process::Stdio;

use pi_base::process::{Rights, Variables, command};

use crate::app::App;
use crate::app::submit;

/// The editor if none is configured.
const FALLBACK: &str = "nano";

/// Opens the text in `externalEditor`, `$VISUAL`, `$EDITOR` or nano.
pub(crate) fn open(app: &mut App) -> bool {
    let configured = app.preferences.external_editor.clone();
    let variable = |name| app.environment.variable(name).map(str::to_owned);
    let editor = configured
        .or_else(|| variable("VISUAL"))
        .or_else(|| variable("EDITOR"))
        .unwrap_or_else(|| FALLBACK.to_owned());
    match edit(app, &editor) {
        Ok(Some(text)) => submit::set_text(app, &text),
        Ok(None) => {}
        Err(error) => app.error(format!(
            "the editor `{editor}` did not work: {error}; set `externalEditor` or $EDITOR"
        )),
    }
    true
}

/// Runs the editor on a copy of the text. `None` if the editor reports a failure: the text stays.
fn edit(app: &mut App, editor: &str) -> std::io::Result<Option<String>> {
    let directory = app.environment.temporary();
    let file =
        tempfile::Builder::new().prefix("pi-editor-").suffix(".md").tempfile_in(directory)?;
    std::fs::write(file.path(), app.editor.text())?;
    app.display.pause();
    // Through the shell, because the setting may have arguments.
    let directory = app.session.workspace().cwd();
    let status = command("sh", Some(directory), Variables::Inherited, Rights::User)
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(file.path())
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .status();
    app.display.resume();
    let status = status?;
    if !status.success() {
        let code = status.code().map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        return Err(std::io::Error::other(format!("it ended with {code}")));
    }
    let text = std::fs::read_to_string(file.path())?;
    Ok(Some(text.strip_suffix('\n').unwrap_or(&text).to_owned()))
}
