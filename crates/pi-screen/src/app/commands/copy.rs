//! `/copy`: copies the last answer, or one of its code blocks.

use crate::answer_parts;
use crate::app::App;
use crate::app::clipboard;
use crate::panels::copy::CopyPanel;

pub(super) fn run(app: &mut App, _argument: &str) {
    let Some(answer) = app.session.last_assistant_text() else {
        return app.status("There is no answer to copy yet");
    };
    let parts = answer_parts::parts(&answer);
    if parts.len() > 1 {
        app.panels.open_then(CopyPanel::new(parts), |app, text| clipboard::copy(app, &text));
    } else {
        clipboard::copy(app, &answer);
    }
}
