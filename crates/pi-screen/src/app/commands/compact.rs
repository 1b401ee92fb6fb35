//! `/compact [instructions]`: replaces older history by a summary.

use crate::app::App;
use crate::app::submit;

pub(super) fn run(app: &mut App, instructions: &str) {
    if app.session.message_count() < 2 {
        return app.warning("There is nothing to compact: the session has no messages yet");
    }
    let session = app.session.clone();
    let instructions = Some(instructions.to_owned()).filter(|text| !text.is_empty());
    let compacted = async move { session.compact(instructions.as_deref()).await };
    // The events of the session show the progress, the result and errors.
    app.tasks.spawn(compacted, |app, _| {
        submit::flush_after_compaction(app);
    });
}
