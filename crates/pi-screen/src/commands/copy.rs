//! `/copy`: copies the last answer, or one of its code blocks.

use crate::app::App;
use crate::clipboard;
use crate::panels::copy::CopyPanel;

pub(super) fn run(app: &mut App, _argument: &str) {
    let Some(answer) = app.session.last_assistant_text() else {
        return app.status("There is no answer to copy yet");
    };
    let parts = clipboard::parts(&answer);
    if parts.len() > 1 {
        app.open(CopyPanel::new(parts));
    } else {
        clipboard::copy(app, &answer);
    }
}
